// Reads [[tex, display], …] from stdin, writes [{html} or {error}, …] to stdout.
const katex = require(process.argv[2]);
const formulas = JSON.parse(require("fs").readFileSync(0, "utf8"));
const set = ([tex, displayMode]) => {
  try {
    const html = katex.renderToString(tex, { displayMode, strict: "error" });
    return { html };
  } catch (error) {
    return { error: error.message };
  }
};
process.stdout.write(JSON.stringify(formulas.map(set)));
