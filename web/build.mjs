// Bundles the page's script and style, and the licences of the packages in them: node build.mjs
// [FOLDER]. The default folder is where the Python package has them.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const outdir = resolve(here, process.argv[2] ?? "../python/depyf/report/assets");
const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: { page: "src/main.ts" },
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome100", "firefox100", "safari15.4"],
  charset: "utf8",
  legalComments: "none", // in page.licenses.txt
  banner: { js: "/*! Licences of the packages in here: page.licenses.txt of depyf */" },
  metafile: true,
  define: { global: "globalThis" }, // where Prism's files of grammars look for it
  outdir,
  logLevel: "warning",
});
await build({
  absWorkingDir: here,
  entryPoints: ["src/page.css"],
  minify: true,
  charset: "utf8",
  outdir,
  logLevel: "warning",
});

// What a package bundles itself has its licences beside the file, as esbuild writes them.
const files = new Map(); // package's folder -> its files that hold licences
for (const input of Object.keys(metafile.inputs).sort()) {
  const folder = /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(input)?.[0];
  if (folder === undefined) continue;
  if (!files.has(folder)) {
    const names = readdirSync(join(here, folder)).sort();
    const own = names.filter((name) => /^(licen[cs]e|copying|notice)/i.test(name));
    if (own.length === 0) throw new Error(`${folder} has no file with its licence`);
    files.set(folder, own);
  }
  const legal = `${input}.LEGAL.txt`;
  if (existsSync(join(here, legal))) files.get(folder).push(legal.slice(folder.length + 1));
}
let licenses = "page.js is bundled from these packages and from depyf's own sources (MIT).\n";
for (const [folder, names] of files) {
  const { name, version, license } = JSON.parse(
    readFileSync(join(here, folder, "package.json"), "utf8"),
  );
  for (const file of names) {
    const text = readFileSync(join(here, folder, file), "utf8").trim();
    licenses += `\n==== ${name} ${version} (${license}): ${file}\n\n${text}\n`;
  }
}
writeFileSync(join(outdir, "page.licenses.txt"), licenses);
