import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';

/** What a build contains. Other files, such as a folder of data in the checkout, don't change it. */
const BUILT = [
  'bin',
  'scripts',
  'src',
  'web',
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'package.json',
  'package-lock.json',
];

/**
 * Returns the commit of a source folder, and whether its files differ from it: from git, or from SOURCE_COMMIT for an image that
 * is built without the history. Without either, as in a source archive, `commit` is null.
 *
 * @param {string} root
 * @returns {{ commit: string | null, changed?: boolean }}
 */
export function readCommit(root) {
  // The lock of the index would make a git command fail that runs at the same time.
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync('git', ['--no-optional-locks', ...args], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    // An archive that was extracted inside of another repository must not have the commit of that one.
    if (realpathSync(git('rev-parse', '--show-toplevel')) === realpathSync(root)) {
      return { commit: git('rev-parse', 'HEAD'), changed: git('status', '--porcelain', '--', ...BUILT) !== '' };
    }
  } catch {
    // No git, or no repository.
  }
  return { commit: process.env['SOURCE_COMMIT'] || null };
}
