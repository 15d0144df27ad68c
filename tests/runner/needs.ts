import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canInstallPackages, isInstalled } from '../../testing/debian-packages.js';
import { CEPH_COMMANDS } from '../../testing/servers/ceph.ts';
import { ANOTHER_STORE_HINT, isObjectStoreNamed } from '../../testing/servers/object-store.ts';
import { isPostgresInstalled } from '../../testing/servers/postgres.ts';
import { SWIFT_COMMANDS } from '../../testing/servers/swift.ts';
import { declaredNeeds } from './declared.ts';

/** What a test file can need beyond Node.js and the npm packages. */
export type Need = keyof typeof NEEDS;

/** A need and how to meet it. */
interface Requirement {
  /** A description for messages. */
  readonly description: string;
  /** The command-line programs, with their Debian packages (separated by spaces). */
  readonly commands?: Readonly<Record<string, string>>;
  /** Commands that can replace a command of `commands` on machines where its package can't be installed. */
  readonly substitutes?: Readonly<Record<string, string>>;
  /** Everything else that Debian packages provide. */
  readonly files?: readonly { readonly name: string; readonly packages: string; isPresent(): boolean }[];
  /** Returns whether the machine meets the rest of the need, which no package provides. */
  isMet?(): boolean;
  /** Returns whether the need is met another way, so that no package is needed. */
  isMetAnotherWay?(): boolean;
  /** How to meet the need without the packages. */
  readonly alternative?: string;
}

/** All needs. A test file declares its own: `export const needs: readonly Need[] = ['bucket'];`. */
const NEEDS = {
  acl: {
    description: 'the programs for ACLs and extended attributes',
    commands: { setfacl: 'acl', getfacl: 'acl', setfattr: 'attr', getfattr: 'attr' },
  },
  apache2: { description: 'Apache', commands: { apache2: 'apache2' } },
  browser: {
    description: 'Chromium or its headless shell, and a Chinese font',
    commands: { 'chromium-headless-shell': 'chromium-headless-shell', 'fc-list': 'fontconfig' },
    substitutes: { 'chromium-headless-shell': 'chromium' },
    // Without the font, a browser draws boxes.
    files: [{ name: 'a Chinese font', packages: 'fonts-noto-cjk', isPresent: hasChineseFont }],
  },
  bucket: {
    description: 'an S3 object store',
    commands: CEPH_COMMANDS,
    isMetAnotherWay: isObjectStoreNamed,
    alternative: ANOTHER_STORE_HINT,
  },
  cadaver: { description: 'cadaver, a WebDAV client', commands: { cadaver: 'cadaver' } },
  caddy: { description: 'Caddy', commands: { caddy: 'caddy' } },
  ceph: { description: 'Ceph, started and stopped by the tests', commands: CEPH_COMMANDS },
  chromium: { description: 'Chromium with its PDF viewer', commands: { chromium: 'chromium' } },
  curl: { description: 'curl and bash', commands: { curl: 'curl', bash: 'bash' } },
  davfs2: {
    description: 'davfs2, and a user who can mount file systems of FUSE',
    commands: { 'mount.davfs': 'davfs2', mount: 'mount' },
    isMet: () => existsSync('/dev/fuse') && canMount(),
    alternative: 'Run the tests as root, on a machine with /dev/fuse',
  },
  'docker-compose': { description: 'Docker Compose', commands: { 'docker-compose': 'docker-compose' } },
  firefox: { description: 'Firefox', commands: { 'firefox-esr': 'firefox-esr' } },
  git: { description: 'git', commands: { git: 'git' } },
  gvfs: {
    description: 'GIO and GVfs with their WebDAV client',
    commands: { gio: 'libglib2.0-bin', 'dbus-run-session': 'dbus-daemon' },
    files: [
      {
        name: 'gvfsd-dav',
        packages: 'gvfs-backends',
        isPresent: () => existsSync('/usr/libexec/gvfsd-dav'),
      },
    ],
  },
  haproxy: { description: 'HAProxy', commands: { haproxy: 'haproxy' } },
  'immutable-files': {
    description: 'a temporary folder on a file system with immutable files, such as ext4, and root',
    commands: { chattr: 'e2fsprogs' },
    isMet: canMakeImmutable,
  },
  litmus: { description: 'litmus, the test suite for WebDAV servers', commands: { litmus: 'litmus' } },
  nginx: { description: 'nginx', commands: { nginx: 'nginx-light' } },
  'open-files': {
    description: 'Linux, and 11,000 open files per process',
    isMet: () => openFilesLimit() >= 11_000,
    alternative: 'Run `ulimit -n 20000` first',
  },
  package: { description: 'the npm package, which the runner builds' },
  postgres: {
    description: 'PostgreSQL',
    commands: { setpriv: 'util-linux' },
    // Debian has the programs of the server outside of the search path.
    files: [{ name: 'the PostgreSQL server', packages: 'postgresql', isPresent: isPostgresInstalled }],
  },
  prometheus: { description: 'promtool', commands: { promtool: 'prometheus' } },
  rclone: { description: 'rclone', commands: { rclone: 'rclone' } },
  redis: { description: 'Redis', commands: { 'redis-server': 'redis-server' } },
  root: { description: 'root', isMet: () => process.getuid?.() === 0, alternative: 'Run the tests as root' },
  setpriv: { description: 'setpriv', commands: { setpriv: 'util-linux' } },
  sqlite3: { description: 'the command line of SQLite', commands: { sqlite3: 'sqlite3' } },
  stills: {
    description: 'ffmpeg, Poppler and libheif, and bubblewrap with permission for user namespaces',
    commands: {
      ffmpeg: 'ffmpeg',
      pdftoppm: 'poppler-utils',
      'heif-convert': 'libheif-examples',
      'heif-enc': 'libheif-examples',
      bwrap: 'bubblewrap',
      prlimit: 'util-linux',
    },
    isMet: canStartSandbox,
  },
  strace: { description: 'strace', commands: { strace: 'strace' } },
  swift: { description: 'OpenStack Swift', commands: SWIFT_COMMANDS },
  systemd: { description: 'systemd-analyze', commands: { 'systemd-analyze': 'systemd' } },
  tuspy: {
    description: 'tuspy, a tus client in Python',
    files: [
      {
        name: 'tuspy',
        packages: 'python3-tuspy',
        isPresent: () => existsSync('/usr/lib/python3/dist-packages/tusclient'),
      },
    ],
  },
  vim: { description: 'Vim', commands: { vim: 'vim' } },
  'zip-readers': {
    description: 'unzip, 7-Zip and Python, which read ZIP archives',
    commands: { unzip: 'unzip', '7z': 'p7zip-full', python3: 'python3-minimal' },
  },
  webkit: {
    description: 'WebKitGTK with its driver, and a display in memory',
    commands: { WebKitWebDriver: 'webkit2gtk-driver', Xvfb: 'xvfb' },
  },
  'windows-file-systems': {
    description: 'NTFS, exFAT and a user who can mount them',
    commands: {
      mount: 'mount',
      losetup: 'mount',
      'lowntfs-3g': 'ntfs-3g',
      'mkfs.exfat': 'exfatprogs',
      'mount.exfat-fuse': 'exfat-fuse',
      setfattr: 'attr',
    },
    isMet: canMount,
    alternative: 'Run the tests as root',
  },
} as const satisfies Readonly<Record<string, Requirement>>;

/**
 * Returns the needs that a test file declares.
 *
 * @throws if the file declares an unknown need
 */
export function needsOf(file: string): Need[] {
  return declaredNeeds(file).map((name) => {
    if (!isNeed(name)) throw new Error(`${file} declares the unknown need "${name}".`);
    return name;
  });
}

/** Returns a need as its requirement: the table types each entry by its own members. */
const requirementOf = (need: Need): Requirement => NEEDS[need];

const isNeed = (name: string): name is Need => Object.hasOwn(NEEDS, name);

/** What a need lacks on this machine. */
export interface Missing {
  readonly need: Need;
  /** The missing programs and files. */
  readonly names: readonly string[];
  /** Debian packages that provide them. */
  readonly packages: readonly string[];
}

/** Returns what is missing for a need, or undefined if nothing is. */
export function missingFor(need: Need): Missing | undefined {
  const { commands = {}, substitutes = {}, files = [], isMet, isMetAnotherWay }: Requirement = requirementOf(need);
  if (isMetAnotherWay?.()) return undefined;
  const isSubstituted = (command: string) => !canInstallPackages() && isInstalled(substitutes[command] ?? command);
  const programs = Object.entries(commands).filter(([command]) => !isInstalled(command) && !isSubstituted(command));
  // A program may be needed to look for a file.
  const others = programs.length > 0 ? files : files.filter((file) => !file.isPresent());
  const names = [...programs.map(([command]) => command), ...others.map(({ name }) => name)];
  const packages = [...programs.map(([, name]) => name), ...others.map((file) => file.packages)];
  if (names.length === 0 && (isMet?.() ?? true)) return undefined;
  return { need, names, packages: [...new Set(packages.flatMap((list) => list.split(' ')))] };
}

/** Returns how to meet a need, in one or two sentences. */
export function explain({ need, names, packages }: Missing): string {
  const { description, alternative }: Requirement = requirementOf(need);
  const missing = names.length > 0 ? ` (missing: ${names.join(', ')})` : '';
  const install = packages.length > 0 ? `: apt-get install --no-install-recommends ${packages.join(' ')}` : '';
  return [`needs ${description}${missing}${install}`, alternative].filter(Boolean).join('. ');
}

function hasChineseFont(): boolean {
  return execFileSync('fc-list', [':lang=zh'], { encoding: 'utf8' }) !== '';
}

/** Returns how many files a process may have open. Only Linux tells, and the tests that need it also read /proc. */
function openFilesLimit(): number {
  if (process.platform !== 'linux') return 0;
  const [, limit] = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
  return limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit ?? 0);
}

/** Returns whether this user can mount a file system. Root in a container often can't. */
function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'holdall-mount-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', folder], { stdio: 'ignore' });
  if (status === 0) spawnSync('umount', [folder], { stdio: 'ignore' });
  rmdirSync(folder);
  return status === 0;
}

/** Returns whether this user can make a file immutable. */
function canMakeImmutable(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'holdall-immutable-'));
  const { status } = spawnSync('chattr', ['+i', folder], { stdio: 'ignore' });
  spawnSync('chattr', ['-i', folder], { stdio: 'ignore' });
  rmdirSync(folder);
  return status === 0;
}

/** Returns whether bubblewrap starts a sandbox, which containers often forbid. Before it is installed, that is unknown. */
function canStartSandbox(): boolean {
  if (!isInstalled('bwrap')) return true;
  return spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', 'true'], { stdio: 'ignore' }).status === 0;
}
