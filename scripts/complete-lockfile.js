import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

/*
 * Tools ship a package for each platform, as optional dependencies. Where a registry's mirror lacks those of other
 * platforms, `npm install` leaves them out of the lockfile, and `npm ci` then refuses it. This script adds them:
 * run it after a change of dependencies. Existing entries stay as they are. With `--integrity`, it asks the registry
 * for the checksums that are missing, one request each.
 */

const LOCKFILE = new URL('../package-lock.json', import.meta.url);

const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const PROCESSORS = ['arm64', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'arm'];

const lock = JSON.parse(readFileSync(LOCKFILE, 'utf8'));
const packages = lock.packages;

for (const { dev, optionalDependencies = {} } of Object.values(packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const place = `node_modules/${name}`;
    const platform = name.slice(name.lastIndexOf('/') + 1);
    const os = SYSTEMS.find((system) => platform.includes(system));
    const cpu = PROCESSORS.find((processor) => platform.includes(processor));
    if (packages[place] || !os || !cpu) continue;
    const libc = os === 'linux' ? [platform.includes('musl') ? 'musl' : 'glibc'] : undefined;
    packages[place] = { version, cpu: [cpu], ...(dev && { dev }), ...(libc && { libc }), optional: true, os: [os] };
  }
}

if (process.argv.includes('--integrity')) {
  for (const [place, entry] of Object.entries(packages)) {
    if (place === '' || entry.integrity) continue;
    const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const integrity = readIntegrity(`${name}@${entry.version}`);
    if (integrity) entry.integrity = integrity;
  }
}

const byName = Object.entries(packages).toSorted(([left], [right]) => (left < right ? -1 : 1));
lock.packages = Object.fromEntries(byName);
writeFileSync(LOCKFILE, `${JSON.stringify(lock, null, 2)}\n`);

/**
 * Returns the checksum that the registry has of a package; undefined where it has no such package.
 *
 * @param {string} spec
 */
function readIntegrity(spec) {
  try {
    return execFileSync('npm', ['view', spec, 'dist.integrity'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}
