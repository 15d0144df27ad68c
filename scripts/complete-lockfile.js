import { readFileSync, writeFileSync } from 'node:fs';

/*
 * Tools ship a package for each platform, as optional dependencies. Where a registry's mirror lacks those of other
 * platforms, `npm install` leaves them out of the lockfile, and `npm ci` then refuses it. This puts them back in:
 * run it after a change of dependencies. What stands there already is left as it is.
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

const byName = Object.entries(packages).toSorted(([left], [right]) => (left < right ? -1 : 1));
lock.packages = Object.fromEntries(byName);
writeFileSync(LOCKFILE, `${JSON.stringify(lock, null, 2)}\n`);
