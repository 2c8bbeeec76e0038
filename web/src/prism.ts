// Prism with the grammars that the page needs. Prism's files of grammars look for it under this global name.
import "./prism-manual";
import Prism from "prismjs/components/prism-core";
import "prismjs/components/prism-clike";
import "prismjs/components/prism-c";
import "prismjs/components/prism-cpp";
import "prismjs/components/prism-python";

export { Prism };
