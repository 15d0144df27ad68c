/** Code points that HFS+ ignores. */
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** NTFS resolves `.git ` and `.git::$INDEX_ALLOCATION` to `.git`, and `git~1` can be its short name. */
const DOT_GIT_OF_NTFS = /^(?:\.git|git~1)[. ]*(?:[\\/:]|$)/i;

/** Whether git rejects trees with an entry of this name: `fsck_tree` in git's fsck.c. */
function isForbidden(name: string): boolean {
  if (name === '' || name === '.' || name === '..' || name.includes('\0')) return true;
  if (name.replaceAll(IGNORED_BY_HFS, '').toLowerCase() === '.git') return true;
  // On Windows, the part after a `\` is a name of its own.
  const parts = name.split('\\').map((_, index, all) => all.slice(index).join('\\'));
  return parts.some((part) => DOT_GIT_OF_NTFS.test(part));
}

export function isMalformed(path: string): boolean {
  return path.split('/').some(isForbidden);
}

/** Encodes a path as in trees: one character per byte. */
export function toBytes(path: string): string {
  return Buffer.from(path).toString('latin1');
}

/** Bytes that are not UTF-8 become U+FFFD. */
export function fromBytes(path: string): string {
  return Buffer.from(path, 'latin1').toString();
}
