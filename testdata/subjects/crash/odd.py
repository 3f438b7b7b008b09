"""odd.py: changes files in the ways that few programs do, for the recorder to follow:
maps, nameless files, direct writes, copies in the kernel, sockets, links to unlinked files."""
import ctypes
import mmap
import os
import shutil
import socket
import tempfile

f = os.open("m", os.O_RDWR | os.O_CREAT)
os.ftruncate(f, 10000)
m = mmap.mmap(f, 10000)
m[5:9] = b"abcd"
m.flush()
os.write(f, b"xy")
m[5000:5004] = b"last"
fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o644)
os.write(fd, b"nameless\n")
assert 0 == (ctypes.CDLL(None).linkat(-100, b"/proc/self/fd/%d" % fd, -100, b"named", 0x400))
d = os.open("direct", os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
b = mmap.mmap(-1, 8192)
b.write(b"d" * 8192)
os.write(d, b)
a = os.open("src", os.O_RDWR | os.O_CREAT)
os.write(a, b"0123456789" * 1000)
o = os.open("dst", os.O_WRONLY | os.O_CREAT)
os.copy_file_range(a, o, 5000, 100)
os.lseek(a, 0, 0)
os.sendfile(o, a, None, 3000)
os.posix_fallocate(o, 0, 20000)
os.writev(o, [b"one", b"two"])
os.pwritev(o, [b"p", b"q"], 9000)
with tempfile.NamedTemporaryFile("w", delete=False) as t:
    t.write("moved")
shutil.move(t.name, "moved")
os.chmod("moved", 0o600)
os.setxattr("moved", "user.a", b"1")
s = socket.socket(socket.AF_UNIX)
s.bind("sock")
p = os.open("gone", os.O_RDWR | os.O_CREAT)
os.unlink("gone")
os.write(p, b"x" * 100)
os.mkdir("dd")
os.symlink("src", "dd/l")
os.rename("dd", "ee")
os.link("src", "ee/h")
os.truncate("src", 77)
os.dup2(p, 9)
os.lseek(9, 3, 0)
os.write(p, b"zz")
if os.fork() == 0:
    os.write(a, b"child")
    os._exit(0)
os.wait()
os.write(a, b"parent")
m[9000:9001] = b"!"
print("done")
