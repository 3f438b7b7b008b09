// Counts its starts in a configuration. Bad: truncates the only copy and then
// writes it. Good: writes beside it, syncs, and renames.
const fs = require("fs");

function replace(name, text) {
  // One name, so that the next run replaces what a killed one left.
  const fd = fs.openSync(name + ".tmp", "w");
  fs.writeFileSync(fd, text);
  fs.fsyncSync(fd);
  fs.closeSync(fd);
  fs.renameSync(name + ".tmp", name);
}

function main(save) {
  const config = JSON.parse(fs.readFileSync("config.json", "utf8"));
  config.starts++;
  save("config.json", JSON.stringify(config) + "\n");
}

try {
  main(process.argv[2] === "bad" ? fs.writeFileSync : replace);
} catch (e) {
  console.error("config: " + e.message);
  process.exit(1);
}
