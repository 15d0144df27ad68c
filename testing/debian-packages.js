import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';

/**
 * Installs the missing commands from Debian's packages.
 *
 * @param {Readonly<Record<string, string>>} packageOf command → Debian package, or several separated by spaces
 * @throws if a command is missing and this is not Debian, or the user is not root. The message names every missing command.
 */
export function requireCommands(packageOf) {
  const missing = Object.keys(packageOf).filter((command) => !isInstalled(command));
  if (missing.length === 0) return;
  const packages = [...new Set(missing.flatMap((command) => (packageOf[command] ?? command).split(' ')))];
  if (!canInstallPackages()) {
    throw new Error(
      `Missing: ${missing.join(', ')}. On Debian: apt-get install --no-install-recommends ${packages.join(' ')}`,
    );
  }
  installPackages(packages);
}

/** Returns whether this user can install packages: root on Debian. */
export function canInstallPackages() {
  return process.getuid?.() === 0 && isInstalled('apt-get');
}

/**
 * Installs Debian packages. Stops and disables the services that come with them; services that were installed before
 * remain as they are.
 *
 * @param {readonly string[]} packages
 * @throws if apt-get fails, which prints the reason
 */
export function installPackages(packages) {
  process.stdout.write(`Installing Debian packages: ${packages.join(', ')}\n`);
  const run = (/** @type {string[]} */ ...parameters) =>
    execFileSync('apt-get', parameters, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  run('update');
  const before = new Set(listServices());
  run('install', '--yes', '--no-install-recommends', ...packages);
  stopServices(listServices().filter((service) => !before.has(service)));
}

const usesSystemd = existsSync('/run/systemd/system');

/** Returns the names of the installed services, without templates such as `swift-object@`. */
function listServices() {
  if (!usesSystemd) return existsSync('/etc/init.d') ? readdirSync('/etc/init.d') : [];
  const units = execFileSync('systemctl', ['list-unit-files', '--type=service', '--plain', '--no-legend'], {
    encoding: 'utf8',
  });
  return units.split('\n').flatMap((line) => /^(\S+[^@\s])\.service\s/.exec(line)?.[1] ?? []);
}

/** @param {readonly string[]} services */
function stopServices(services) {
  if (usesSystemd && services.length > 0) {
    execFileSync('systemctl', ['disable', '--now', ...services], { stdio: ['ignore', 'ignore', 'inherit'] });
  }
  // Ignores a failure: the policy of a container may have prevented the service from starting.
  if (!usesSystemd) for (const service of services) spawnSync(`/etc/init.d/${service}`, ['stop'], { stdio: 'ignore' });
}

/**
 * Returns whether a command is on the search path.
 *
 * @param {string} command
 */
export function isInstalled(command) {
  return findCommand(command) !== undefined;
}

/**
 * Returns the path of a command that is on the search path, or in a folder for system programs beside one on the search
 * path: ordinary users of Debian have no /usr/sbin on theirs. Returns undefined if there is none.
 *
 * @param {string} command
 */
export function findCommand(command) {
  return searchPath()
    .split(delimiter)
    .map((folder) => join(folder, command))
    .find((path) => existsSync(path));
}

/** Returns the search path, with each `sbin` folder after the `bin` folder beside it. */
export function searchPath() {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean);
  const withSystem = folders.flatMap((folder) =>
    basename(folder) === 'bin' ? [folder, join(dirname(folder), 'sbin')] : [folder],
  );
  return [...new Set(withSystem)].join(delimiter);
}
