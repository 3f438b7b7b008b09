// Writes an index of all items/*.json into that folder. Bad: the temporary file is
// named like an item, so the next run loads what a failed one left. Good: it is not.
const fs = require("fs");

const index = "items/index.json";
const temporary = process.argv[2] === "bad" ? "items/index.new.json" : "items/index.json.new";

function items() {
  const names = fs.readdirSync("items").filter((n) => n.endsWith(".json") && n !== "index.json");
  return names.sort().map((n) => JSON.parse(fs.readFileSync("items/" + n, "utf8")));
}

function replace(text) {
  const fd = fs.openSync(temporary, "w");
  fs.writeFileSync(fd, text);
  fs.fsyncSync(fd);
  fs.closeSync(fd);
  fs.renameSync(temporary, index);
}

try {
  replace(JSON.stringify(items()) + "\n");
} catch (e) {
  console.error("index: " + e.message);
  process.exit(1);
}
