import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Sees to it that the commands are there: those that are missing are installed from Debian's packages, where this
 * is Debian and we are root. Elsewhere it throws an error that says exactly what is missing.
 *
 * @param {Readonly<Record<string, string>>} packageOf the package that brings each command
 */
export function requireCommands(packageOf) {
  const missing = Object.keys(packageOf).filter((command) => !isInstalled(command));
  if (missing.length === 0) return;
  const packages = [...new Set(missing.map((command) => packageOf[command] ?? command))];
  if (process.getuid?.() !== 0 || !isInstalled('apt-get')) {
    throw new Error(
      `Missing: ${missing.join(', ')}. On Debian: apt-get install --no-install-recommends ${packages.join(' ')}`,
    );
  }
  const run = (/** @type {string[]} */ ...parameters) =>
    execFileSync('apt-get', parameters, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  run('update');
  run('install', '--yes', '--no-install-recommends', ...packages);
}

/** @param {string} command */
function isInstalled(command) {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return [...folders, '/usr/sbin', '/sbin'].some((folder) => existsSync(join(folder, command)));
}
