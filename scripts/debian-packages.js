import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Installs the missing commands from Debian's packages. Stops and disables the services that come with them; services
 * that were installed before remain as they are.
 *
 * @param {Readonly<Record<string, string>>} packageOf command → Debian package, or several separated by spaces
 * @throws if a command is missing and this is not Debian, or the user is not root. The message names every missing command.
 */
export function requireCommands(packageOf) {
  const missing = Object.keys(packageOf).filter((command) => !isInstalled(command));
  install(
    missing,
    missing.map((command) => packageOf[command] ?? command),
  );
}

/** Installs a Chinese font in the same way. Without one, a browser draws boxes. */
export function requireChineseFont() {
  requireCommands({ 'fc-list': 'fontconfig' });
  const fonts = execFileSync('fc-list', [':lang=zh'], { encoding: 'utf8' });
  if (fonts === '') install(['a font for Chinese'], ['fonts-noto-cjk']);
}

/**
 * @param {readonly string[]} missing the missing commands, for the message; does nothing if empty
 * @param {readonly string[]} packages the packages to install
 */
function install(missing, packages) {
  if (missing.length === 0) return;
  const wanted = [...new Set(packages.flatMap((name) => name.split(' ')))];
  if (process.getuid?.() !== 0 || !isInstalled('apt-get')) {
    throw new Error(
      `Missing: ${missing.join(', ')}. On Debian: apt-get install --no-install-recommends ${wanted.join(' ')}`,
    );
  }
  const run = (/** @type {string[]} */ ...parameters) =>
    execFileSync('apt-get', parameters, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  run('update');
  const before = new Set(listServices());
  run('install', '--yes', '--no-install-recommends', ...wanted);
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

/** @param {string} command */
function isInstalled(command) {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return [...folders, '/usr/sbin', '/sbin'].some((folder) => existsSync(join(folder, command)));
}
