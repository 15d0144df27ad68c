import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Commands whose packages start a service of that name as soon as they are installed. */
const SERVICES = ['nginx', 'caddy', 'redis-server', 'prometheus'];

/**
 * Sees to it that the commands are there: those that are missing are installed from Debian's packages, where this
 * is Debian and we are root, and no service is left running that came with them. Elsewhere it throws an error that says
 * exactly what is missing.
 *
 * @param {Readonly<Record<string, string>>} packageOf the package that brings each command, or several with spaces between
 */
export function requireCommands(packageOf) {
  const missing = Object.keys(packageOf).filter((command) => !isInstalled(command));
  install(
    missing,
    missing.map((command) => packageOf[command] ?? command),
  );
}

/** Sees in the same way to it that there is a font with the characters of Chinese: without one, a browser draws boxes. */
export function requireChineseFont() {
  requireCommands({ 'fc-list': 'fontconfig' });
  const fonts = execFileSync('fc-list', [':lang=zh'], { encoding: 'utf8' });
  if (fonts === '') install(['a font for Chinese'], ['fonts-noto-cjk']);
}

/**
 * @param {readonly string[]} missing what is not there; nothing is done where that is nothing
 * @param {readonly string[]} packages those that bring it
 */
function install(missing, packages) {
  if (missing.length === 0) return;
  const wanted = [...new Set(packages.flatMap((name) => name.split(' ')))];
  const present = SERVICES.filter(isInstalled);
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
  run('install', '--yes', '--no-install-recommends', ...wanted);
  for (const service of SERVICES) if (!present.includes(service) && isInstalled(service)) stopService(service);
}

/** @param {string} service as Debian calls it */
function stopService(service) {
  if (existsSync('/run/systemd/system')) {
    execFileSync('systemctl', ['disable', '--now', service], { stdio: ['ignore', 'ignore', 'inherit'] });
  } else if (existsSync(`/etc/init.d/${service}`)) {
    // Fails where it does not run, as in a container whose policy forbids it: that is what we want.
    spawnSync(`/etc/init.d/${service}`, ['stop'], { stdio: 'ignore' });
  }
}

/** @param {string} command */
function isInstalled(command) {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return [...folders, '/usr/sbin', '/sbin'].some((folder) => existsSync(join(folder, command)));
}
