// Puts a configuration into a project's folder, which it makes where there is none.
// Bad: when it fails it removes the folder, though it was there before, and with it
// what others put there. Good: removes only what it made itself.
const fs = require("fs");

const folder = "project";
let made = process.argv[2] === "bad";

function make() {
  try {
    fs.mkdirSync(folder);
    made = true;
  } catch (e) {
    if (e.code !== "EEXIST") throw e;
  }
}

function configure() {
  const tmp = folder + "/config.tmp";
  const fd = fs.openSync(tmp, "w");
  fs.writeFileSync(fd, "name = project\n");
  fs.fsyncSync(fd);
  fs.closeSync(fd);
  fs.renameSync(tmp, folder + "/config");
}

try {
  make();
  configure();
} catch (e) {
  console.error("scaffold: " + e.message);
  if (made) fs.rmSync(folder, { recursive: true, force: true });
  process.exit(1);
}
