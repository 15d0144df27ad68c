import type { ConnectText } from '../../platform/text/text.ts';
import { portOf, uncPath, withoutScheme, withScheme } from './address.ts';

/** The operating systems that the page can recognize. */
export type System = 'macos' | 'windows' | 'linux' | 'ios' | 'android';

/** One step of connecting a client. */
export interface Step {
  readonly text: string;
  /** What the user enters or runs. */
  readonly code?: string;
}

/** What a client needs to connect. */
export interface Connection {
  /** The address of the folder, with a trailing slash. */
  readonly url: URL;
  /** The user; null if the service has no users, undefined if no user is signed in. */
  readonly username: string | null | undefined;
}

/** A program that can connect by WebDAV. */
export interface Client {
  readonly id: string;
  /** The name of the product, or the key of its text. */
  readonly name: string | { readonly key: keyof ConnectText['connect']['clients'] };
  /** The systems whose user probably wants this client. */
  readonly systems: readonly System[];
  readonly steps: (connection: Connection, text: Texts) => readonly Step[];
}

type Texts = ConnectText['connect']['steps'];

/** Returns the step in which the user enters the credentials. */
const signIn = ({ username }: Connection, text: Texts): Step => ({
  text: username === null ? text.signInNone : text.signIn,
});

const CLIENTS: readonly Client[] = [
  {
    id: 'finder',
    name: 'Finder',
    systems: ['macos'],
    steps: (connection, text) => [
      { text: text.finderOpen },
      { text: text.enterAddress, code: connection.url.href },
      signIn(connection, text),
    ],
  },
  {
    id: 'explorer',
    name: 'Windows Explorer',
    systems: ['windows'],
    steps: (connection, text) => [
      { text: text.explorerOpen },
      { text: text.enterAddress, code: connection.url.href },
      { text: text.explorerUnc, code: uncPath(connection.url) },
      signIn(connection, text),
      { text: text.explorerLarge, code: RAISE_FILE_SIZE_LIMIT },
    ],
  },
  {
    id: 'gnome',
    name: 'GNOME Files',
    systems: ['linux'],
    steps: (connection, text) => [
      { text: text.gnomeOpen, code: withScheme(connection.url, 'dav') },
      signIn(connection, text),
    ],
  },
  {
    id: 'dolphin',
    name: 'KDE Dolphin',
    systems: ['linux'],
    steps: (connection, text) => [
      { text: text.dolphinOpen, code: withScheme(connection.url, 'webdav') },
      signIn(connection, text),
    ],
  },
  {
    id: 'davfs2',
    name: 'davfs2',
    systems: ['linux'],
    steps: (connection, text) => [{ text: text.davfsMount, code: davfsCommands(connection) }, signIn(connection, text)],
  },
  {
    id: 'cyberduck',
    name: 'Cyberduck',
    systems: ['macos', 'windows'],
    steps: (connection, text) => [
      {
        text: text.cyberduckOpen({ protocol: protocolOf(connection), port: portOf(connection.url) }),
        code: connection.url.hostname,
      },
      { text: text.cyberduckPath, code: connection.url.pathname },
      signIn(connection, text),
    ],
  },
  {
    id: 'ios',
    name: { key: 'ios' },
    systems: ['ios'],
    steps: (connection, text) => [
      { text: text.mobileInstall({ apps: 'Documents, Owlfiles, FE File Explorer' }) },
      { text: text.mobileAdd, code: connection.url.href },
      signIn(connection, text),
    ],
  },
  {
    id: 'android',
    name: { key: 'android' },
    systems: ['android'],
    steps: (connection, text) => [
      { text: text.mobileInstall({ apps: 'Solid Explorer, Round Sync, FolderSync' }) },
      { text: text.mobileAdd, code: connection.url.href },
      signIn(connection, text),
    ],
  },
  {
    id: 'rclone',
    name: 'rclone',
    systems: ['linux', 'macos', 'windows'],
    steps: (connection, text) => [
      { text: text.rcloneCreate, code: rcloneCommand(connection) },
      { text: text.rcloneMount, code: 'rclone mount holdall: ~/Holdall --vfs-cache-mode writes' },
    ],
  },
  {
    id: 'keepass',
    name: { key: 'keepass' },
    systems: [],
    steps: (connection, text) => [
      { text: text.keepassOpen, code: new URL('Passwords.kdbx', connection.url).href },
      signIn(connection, text),
      { text: text.keepassXc },
    ],
  },
  {
    id: 'zotero',
    name: 'Zotero',
    systems: [],
    steps: (connection, text) => [
      { text: text.zoteroOpen },
      {
        text: text.zoteroUrl({ scheme: connection.url.protocol.slice(0, -1) }),
        code: withoutScheme(connection.url),
      },
      signIn(connection, text),
      { text: text.zoteroVerify },
    ],
  },
  {
    id: 'joplin',
    name: 'Joplin',
    systems: [],
    steps: (connection, text) => [
      { text: text.joplinOpen },
      { text: text.joplinUrl, code: new URL('Joplin', connection.url).href },
      signIn(connection, text),
    ],
  },
];

/** Sets the maximum size of a file to 4 GiB, the highest value. */
const RAISE_FILE_SIZE_LIMIT = String.raw`reg add HKLM\SYSTEM\CurrentControlSet\Services\WebClient\Parameters /v FileSizeLimitInBytes /t REG_DWORD /d 4294967295 /f`;

const protocolOf = ({ url }: Connection) => (url.protocol === 'https:' ? 'WebDAV (HTTPS)' : 'WebDAV (HTTP)');

function davfsCommands({ url }: Connection): string {
  const mount = `sudo mount -t davfs -o uid=$(id -u),gid=$(id -g) '${url.href}' /mnt/holdall`;
  return ['sudo apt install davfs2', 'sudo mkdir -p /mnt/holdall', mount].join('\n');
}

/**
 * Returns the command that configures rclone. The vendor makes it send modification times. Without the chunk size, recent versions
 * expect the paths of a Nextcloud server.
 */
function rcloneCommand({ url, username }: Connection): string {
  const login = username === null ? [] : [`user=${quoteForShell(username ?? 'USERNAME')}`, 'pass=APP_TOKEN --obscure'];
  const remote = `rclone config create holdall webdav url='${url.href}' vendor=nextcloud nextcloud_chunk_size=0`;
  return [remote, ...login].join(' ');
}

/** Returns a word for a POSIX shell. */
function quoteForShell(word: string): string {
  return /^[\w.@-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** Returns the clients for the system of the user, the most common first, and all others. */
export function clientsFor(system: System | undefined): {
  readonly own: readonly Client[];
  readonly others: readonly Client[];
} {
  const isOwn = ({ systems }: Client) => system !== undefined && systems.includes(system);
  return { own: CLIENTS.filter(isOwn), others: CLIENTS.filter((client) => !isOwn(client)) };
}

/** Returns the system of a browser; undefined if it is not one that the page knows. */
export function systemOf({
  userAgent,
  maxTouchPoints,
}: Pick<Navigator, 'userAgent' | 'maxTouchPoints'>): System | undefined {
  if (/Android/.test(userAgent)) return 'android';
  // Browsers of iPads claim to run on a Mac, which has no touch screen.
  if (/iPhone|iPad|iPod/.test(userAgent) || (/Macintosh/.test(userAgent) && maxTouchPoints > 1)) return 'ios';
  if (/Windows/.test(userAgent)) return 'windows';
  if (/Macintosh/.test(userAgent)) return 'macos';
  return /Linux|X11/.test(userAgent) ? 'linux' : undefined;
}
