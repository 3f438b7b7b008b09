// Runs one of the packages as its readme does: take the lock, be inside, give it back.
const fs = require("fs");

const packages = {
  "proper-lockfile": (inside) => require("proper-lockfile").lock("x", { realpath: false }).then((release) => (inside(), release())),
  lockfile: (inside) =>
    new Promise((done, failed) => {
      const lockfile = require("lockfile");
      lockfile.filetime = "mtime"; // a copy of a tree keeps no ctime
      lockfile.lock("x.lock", { stale: 10000 }, (e) => (e ? failed(e) : (inside(), lockfile.unlock("x.lock", done))));
    }),
  "lockfile-sync": async (inside) => {
    const lockfile = require("lockfile");
    lockfile.filetime = "mtime";
    lockfile.lockSync("x.lock", { stale: 10000 });
    inside();
    lockfile.unlockSync("x.lock");
  },
  // these never had the lock that they give back
  "proper-lockfile-stranger": () => require("proper-lockfile").unlock("x", { realpath: false }),
  "lockfile-stranger": async () => require("lockfile").unlockSync("x.lock"),
};

function inside() {
  const fd = fs.openSync("log", "a");
  fs.writeSync(fd, "enter " + process.pid + "\n");
  fs.writeSync(fd, "leave " + process.pid + "\n");
  fs.closeSync(fd);
}

packages[process.argv[2]](inside).catch((e) => {
  console.error(e.message);
  process.exit(1);
});
