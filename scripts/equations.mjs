#!/usr/bin/env node
// Sets the theorems' equations as SVG: letters as outlines, so that no font is needed; `currentColor` for light and dark.
//
//     contattn verify --rounds 1 --json theorems.json
//     npm install --prefix FOLDER mathjax-full@3.2.2
//     NODE_PATH=FOLDER/node_modules scripts/equations.mjs theorems.json crates/explorer/equations
//
// The SVGs are committed; this runs again only when a statement changes. crates/explorer/tests names an equation that is missing.

import { createRequire } from "node:module";
import { mkdirSync, readFileSync, readdirSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [json, folder] = process.argv.slice(2);
if (!json || !folder) {
  console.error("usage: equations.mjs THEOREMS.json FOLDER");
  process.exit(2);
}
// CommonJS resolution looks into NODE_PATH; that of modules does not.
const require = createRequire(import.meta.url);
const { mathjax } = require("mathjax-full/js/mathjax.js");
const { TeX } = require("mathjax-full/js/input/tex.js");
const { SVG } = require("mathjax-full/js/output/svg.js");
const { liteAdaptor } = require("mathjax-full/js/adaptors/liteAdaptor.js");
const { RegisterHTMLHandler } = require("mathjax-full/js/handlers/html.js");
require("mathjax-full/js/input/tex/ams/AmsConfiguration.js");

const adaptor = liteAdaptor();
RegisterHTMLHandler(adaptor);
const document = mathjax.document("", {
  InputJax: new TeX({ packages: ["base", "ams"] }),
  OutputJax: new SVG({ fontCache: "local" }),
});

// A unit of MathJax is a thousandth of the font's size; the picture's own unit is a pixel at 20 pixels to an em.
const EM = 20;

function set(latex) {
  const node = document.convert(latex, { display: true, em: EM, ex: EM / 2, containerWidth: 1e6 });
  let svg = adaptor.innerHTML(node);
  if (svg.includes("data-mml-node=\"merror\"")) {
    throw new Error(`not understood: ${latex}`);
  }
  const [, x, y, width, height] = svg.match(/viewBox="(\S+) (\S+) (\S+) (\S+)"/);
  const size = (length) => ((length / 1000) * EM).toFixed(2);
  svg = svg
    .replace(/<svg[^>]*>/, `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="${size(width)}" height="${size(height)}" viewBox="${x} ${y} ${width} ${height}">`)
    // What a reader of the picture does not see.
    .replace(/ (data-[a-z-]+|role|focusable|aria-[a-z]+|style)="[^"]*"/g, "");
  return `${svg}\n`;
}

const { theorems } = JSON.parse(readFileSync(json, "utf8"));
mkdirSync(folder, { recursive: true });
for (const old of readdirSync(folder).filter((name) => name.endsWith(".svg"))) {
  unlinkSync(join(folder, old));
}
for (const { id, latex } of theorems) {
  writeFileSync(join(folder, `${id}.svg`), set(latex));
}
console.log(`${theorems.length} equations`);
