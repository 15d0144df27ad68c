import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

/*
 * Adds missing platform packages to the lockfile. Run it after a change of dependencies. Tools ship one optional
 * dependency for each platform. If a registry mirror lacks those of other platforms, `npm install` omits them from
 * the lockfile, and `npm ci` then rejects it. Existing entries remain unchanged. With `--integrity`, the script
 * requests each missing checksum from the registry.
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
 * Returns the checksum of a package from the registry; undefined if the registry does not have the package.
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
