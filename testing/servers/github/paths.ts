/** HFS+ takes these for nothing. */
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** NTFS takes `.git ` and `.git::$INDEX_ALLOCATION` for `.git`, and may know it as `git~1`. */
const DOT_GIT_OF_NTFS = /^(?:\.git|git~1)[. ]*(?:[\\/:]|$)/i;

/** Whether git takes no entry of this name into a tree: `fsck_tree` in git's fsck.c. */
function isForbidden(name: string): boolean {
  if (name === '' || name === '.' || name === '..' || name.includes('\0')) return true;
  if (name.replaceAll(IGNORED_BY_HFS, '').toLowerCase() === '.git') return true;
  // What comes behind a `\` is a name of its own on Windows.
  const parts = name.split('\\').map((_, index, all) => all.slice(index).join('\\'));
  return parts.some((part) => DOT_GIT_OF_NTFS.test(part));
}

export function isMalformed(path: string): boolean {
  return path.split('/').some(isForbidden);
}

/** As trees have names: a byte each character. */
export function toBytes(path: string): string {
  return Buffer.from(path).toString('latin1');
}

/** What is not UTF-8 becomes U+FFFD. */
export function fromBytes(path: string): string {
  return Buffer.from(path, 'latin1').toString();
}
