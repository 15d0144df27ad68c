import { existsSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { CEPH_COMMANDS } from '../../tests/servers/ceph.ts';
import { run } from './processes.ts';

/** A program the benchmarks call, and the Debian packages it comes from. */
export type Program = keyof typeof packages;

const packages = {
  nginx: 'nginx-light',
  caddy: 'caddy',
  rclone: 'rclone',
  wrk: 'wrk',
  curl: 'curl',
  cmp: 'diffutils',
  git: 'git',
  // The headers of the C library are a package of their own, which it only recommends.
  gcc: 'gcc libc6-dev',
  ...CEPH_COMMANDS,
} as const;

/** All that a Ceph of our own consists of. */
export const cephPrograms: readonly Program[] = Object.keys(CEPH_COMMANDS).filter(isProgram);

/**
 * Sees that every program is there. On Debian, as root, what is missing is installed with apt-get and nothing of
 * it is left running; elsewhere, or when apt-get fails, rejects with what is missing.
 */
export async function ensurePrograms(programs: readonly Program[], signal: AbortSignal): Promise<void> {
  const missing = await findMissing(programs);
  if (missing.length === 0) return;
  const wanted = [...new Set(missing.flatMap((program) => packages[program].split(' ')))];
  const command = `apt-get install --no-install-recommends ${wanted.join(' ')}`;
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0) {
    throw new Error(`not found: ${missing.join(', ')}. On Debian, as root: ${command}. Elsewhere: put them on PATH.`);
  }
  process.stderr.write(`bench: not found: ${missing.join(', ')}; running ${command}\n`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await run({ file: 'apt-get', args: ['update'], env }, signal);
  await run({ file: 'apt-get', args: ['install', '--yes', '--no-install-recommends', ...wanted], env }, signal);
  await stopServices(missing, signal);
  const stillMissing = await findMissing(programs);
  if (stillMissing.length > 0) throw new Error(`installed, but not found on PATH: ${stillMissing.join(', ')}`);
}

/** The version of each program, as the program itself says it. */
export async function readVersions(programs: readonly Program[], signal: AbortSignal): Promise<Record<string, string>> {
  const versions: Record<string, string> = {};
  for (const program of programs) versions[program] = await readVersion(program, signal);
  return versions;
}

/** Of those that do not take `--version`. */
const versionArguments: Partial<Record<Program, string>> = {
  nginx: '-v',
  caddy: 'version',
  rclone: 'version',
  wrk: '-v',
};

async function readVersion(program: Program, signal: AbortSignal): Promise<string> {
  // nginx says its version on standard error, and wrk exits with 1 after it: the shell evens both out.
  const script = '"$0" "$1" 2>&1 || true';
  const argument = versionArguments[program] ?? '--version';
  const { stdout } = await run({ file: 'sh', args: ['-c', script, program, argument] }, signal);
  return /\d+\.\d+(\.\d+)?[^\s)]*/.exec(stdout)?.[0] ?? 'unknown';
}

function isProgram(name: string): name is Program {
  return name in packages;
}

async function findMissing(programs: readonly Program[]): Promise<Program[]> {
  const found = await Promise.all(programs.map(isOnPath));
  return programs.filter((_, index) => !found[index]);
}

async function isOnPath(program: Program): Promise<boolean> {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/local/sbin', '/usr/sbin', '/sbin'];
  const looks = folders.map((folder) => access(join(folder, program), constants.X_OK));
  return (await Promise.allSettled(looks)).some((look) => look.status === 'fulfilled');
}

/** Debian starts a server's service as soon as its package is installed; we want the program alone. */
async function stopServices(installed: readonly Program[], signal: AbortSignal): Promise<void> {
  const services = installed.filter((program) => program === 'nginx' || program === 'caddy');
  for (const service of services) {
    if (existsSync('/run/systemd/system')) {
      await run({ file: 'systemctl', args: ['disable', '--now', service] }, signal);
    } else if (existsSync(`/etc/init.d/${service}`)) {
      // Fails where it does not run, as in a container whose policy-rc.d forbids it: that is what we want.
      await run({ file: 'sh', args: ['-c', '"$0" stop || true', `/etc/init.d/${service}`] }, signal);
    }
  }
}
