// Package guard decides whether a path lies outside a repository, against a
// root that whoever starts the program cannot move.
//
// A program that must not touch, or must not read, what lies in its own
// repository (held-out data, an answer key, a production file) is easily
// fooled: by a start from another directory, by a false $PWD or $GIT_DIR, by a
// symbolic link, by "..", by a sibling whose name begins like the repository's.
// So nothing of the start is believed here:
//
//   - The root is the nearest directory above the program's own executable that
//     holds a marker, ".git" unless another is given; or one that was fixed when
//     the program was built. The working directory and the environment are not
//     asked. See [Find].
//   - A path is walked as the kernel walks it, link by link, with ".." taken of
//     where the links have led; it need not exist yet, and a link that leads to
//     nothing counts as the place that it names. See [Root.Outside].
//   - Directories are compared by identity, device and inode, never by
//     spelling: so a directory is itself under another case, through a link, and
//     through a bind mount of itself or of one above it.
//   - On Linux the table of mounts tells where a bind mount of a directory or
//     file within the repository comes from.
//   - A file with several names (hard links) is looked for in the repository.
//
// What cannot be decided is refused: every answer but nil means "do not go on".
//
//	root, err := guard.Find(guard.Options{})
//	if err != nil {
//		return err
//	}
//	if err := root.Outside(heldOut); err != nil {
//		return err
//	}
//
// To fix the root when the program is built:
//
//	go build -ldflags "-X faultlab/guard.fixed=/srv/repo" ./cmd/tool
//
// # What it cannot tell
//
//   - What happens after the answer. Who may rename directories or replace links
//     between the answer and the use gets the path anywhere.
//   - Copies, reflinks, archives: the same bytes under another identity.
//   - File systems that show a directory under identities of their own: overlayfs
//     with the repository as a lower layer, bindfs and other FUSE mirrors, NFS or
//     SMB of this machine to itself, a loop device whose image lies in the
//     repository. On other systems than Linux also bind (null) mounts of a
//     directory or file within the repository.
//   - What a directory holds: the directory data/ may lie outside and have links
//     into the repository in it. Ask for each file.
//   - A program that was copied or hard-linked elsewhere. There it finds the root
//     of that place, or none; and a false marker put between the program and the
//     true root shrinks the root. Fix the root when you build, where whoever
//     starts the program can also write to where it lies.
//   - A debugger, a preloaded library, another mount namespace that shows the
//     kernel another tree.
package guard
