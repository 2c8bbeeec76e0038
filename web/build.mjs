// Bundles the page's script and style: node build.mjs [FOLDER]. The default folder is where the Python package has them.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
await build({
  absWorkingDir: here,
  entryPoints: { page: "src/main.ts" },
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome100", "firefox100", "safari15.4"],
  charset: "utf8",
  legalComments: "inline",
  define: { global: "globalThis" }, // where Prism's files of grammars look for it
  outdir: process.argv[2] ?? "../python/depyf/report/assets",
  logLevel: "warning",
});
await build({
  absWorkingDir: here,
  entryPoints: ["src/page.css"],
  minify: true,
  charset: "utf8",
  outdir: process.argv[2] ?? "../python/depyf/report/assets",
  logLevel: "warning",
});
