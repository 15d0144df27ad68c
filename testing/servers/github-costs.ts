import { openGitHub } from '../../src/stores/github/github.ts';
import { github } from '../../tests/contract/backend.ts';
import { postForm, postJson, send } from '../../tests/http/client.ts';
import { startService, type TestService } from '../../tests/http/service.ts';
import { BLUE, plain } from '../../tests/thumbnails/images.ts';
import type { Content, RespondedRequest } from './github.ts';
import { type HostedRepository, hostRepository } from './hosted-repository.ts';

/** The cost of one request to the service, in GitHub API requests. */
export interface Cost {
  /** The number of API requests that count against the rate limit. */
  readonly calls: number;
  /** The number of API requests that are free because nothing has changed (304). */
  readonly free: number;
}

/** A case: the initial state and the measured request, which resolves with the status of the response. */
export interface CostCase {
  /** The name in the documentation. */
  readonly name: string;
  readonly files?: () => Promise<Files> | Files;
  /** Requests before the measured one. Default: one listing. */
  readonly before?: (served: Served) => Promise<unknown>;
  /** `GITHUB_TRUST` in seconds. Default: `TRUST`. */
  readonly trust?: number;
  readonly request: (port: number) => Promise<{ readonly status: number }>;
}

type Files = Readonly<Record<string, Content>>;

/** A repository of one test, and the service for it. */
export interface Served extends HostedRepository, Pick<TestService, 'port' | 'store' | 'log' | 'stop'> {}

/** In seconds. Longer than any case, even on a busy machine. */
const TRUST = 300;

/** Opens the store like `stores/registry.ts`, except for options that only add delays. */
export async function serveRepository(
  files: Files | undefined,
  { trust = TRUST, gatherFor = 0 }: { readonly trust?: number | undefined; readonly gatherFor?: number } = {},
): Promise<Served> {
  const hosted = await hostRepository({ files: files ?? { 'README.md': 'text' } });
  const store = openGitHub({ ...hosted.options, trust, gatherFor, writesPerMinute: 80 });
  const close = async () => {
    await store.close?.();
    await hosted.remove();
  };
  const open = async () => ({ store, close });
  try {
    return { ...hosted, ...(await startService({ ...github, open })) };
  } catch (error) {
    // Running servers would keep the process of the failed test alive.
    await close();
    throw error;
  }
}

export function costOf(requests: readonly Pick<RespondedRequest, 'free'>[]): Cost {
  const free = requests.filter((request) => request.free).length;
  return { calls: requests.length - free, free };
}

const MIB = 2 ** 20;
const TEXT = Buffer.alloc(4 * 1024, 'text ');
const BINARY = Buffer.alloc(4 * 1024, Buffer.from([0, 255]));

const small = () => ({ 'f/a': 'text' });
const large = () => ({ 'f/a': Buffer.alloc(10 * MIB) });
const image = async () => ({ 'f/a': await plain(BLUE).png().toBuffer() });
const filesIn = (count: number) => () =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`f/${index % 5}/${index}`, `text ${index}`]));

const listRoot = (port: number) => send(port, '/');
const list = (port: number) => send(port, '/f/');
const fetchFile = (port: number) => send(port, '/file/f/a');
const thumbnail = (port: number) => send(port, '/thumb/f/a');
const ready = (port: number) => send(port, '/-/health/ready');

const upload = (port: number, bytes: Buffer) =>
  postForm(port, [
    { name: 'prefix', value: 'f' },
    { name: 'file', filename: 'a', value: bytes },
  ]);

const transfer = (port: number, what: 'copy' | 'move') =>
  postJson(port, `/${what}`, { source: 'f/a', destination: 'g/a', is_folder: false });

const transferFolder = (port: number, what: 'copy' | 'move') =>
  postJson(port, `/${what}`, { source: 'f', destination: 'longer/than/it', is_folder: true });

const ONE_FILE: readonly CostCase[] = [
  { name: 'the start', before: async () => {}, request: ready },
  { name: 'list, the first time', files: filesIn(10), before: async () => {}, request: list },
  { name: 'list, within `GITHUB_TRUST`', files: filesIn(10), request: list },
  { name: 'list, later, nothing changed', files: filesIn(10), trust: 0, request: list },
  {
    name: 'list, later, after a push of another client',
    files: filesIn(10),
    trust: 0,
    before: async ({ port, repository }) => {
      await listRoot(port);
      await repository.commit({ 'f/b': 'text' });
    },
    request: list,
  },
  {
    name: 'list, later, after a commit by Holdall',
    files: filesIn(10),
    trust: 0,
    before: async ({ port }) => await upload(port, TEXT),
    request: list,
  },
  { name: 'fetch, below 6 MB, not cached', files: small, request: fetchFile },
  {
    name: 'fetch, below 6 MB, cached',
    files: small,
    before: async ({ port }) => await fetchFile(port),
    request: fetchFile,
  },
  { name: 'fetch, large: the redirect', files: large, request: fetchFile },
  { name: 'HEAD, below 6 MB', files: small, request: (port) => send(port, '/file/f/a', { method: 'HEAD' }) },
  { name: 'thumbnail, the first time', files: image, request: thumbnail },
  { name: 'thumbnail, cached', files: image, before: async ({ port }) => await thumbnail(port), request: thumbnail },
  { name: 'upload, text up to 32 KiB', request: (port) => upload(port, TEXT) },
  { name: 'upload, other bytes up to 32 KiB', request: (port) => upload(port, BINARY) },
  { name: 'upload, 10 MiB', request: (port) => upload(port, Buffer.alloc(10 * MIB)) },
  { name: 'delete a file', files: small, request: (port) => send(port, '/delete/f/a', { method: 'DELETE' }) },
  { name: 'rename a file', files: small, request: (port) => postJson(port, '/rename/f/a', { newName: 'b' }) },
  { name: 'copy a file', files: small, request: (port) => transfer(port, 'copy') },
  { name: 'copy a file of 10 MiB', files: large, request: (port) => transfer(port, 'copy') },
  { name: 'move a file', files: small, request: (port) => transfer(port, 'move') },
  { name: 'create a folder three deep', request: (port) => postJson(port, '/create_folder', { path: 'a/b/c' }) },
  { name: '`/-/health/ready`', before: async ({ store }) => await store.check?.(), request: ready },
];

const FOLDERS: readonly CostCase[] = [10, 5_000].flatMap((count) => {
  const files = filesIn(count);
  const of = `a folder of ${count.toLocaleString('en-US')} files`;
  return [
    {
      name: `rename ${of}`,
      files,
      request: (port: number) => postJson(port, '/rename_folder/f', { newName: 'of another length' }),
    },
    { name: `copy ${of}`, files, request: (port: number) => transferFolder(port, 'copy') },
    { name: `move ${of}`, files, request: (port: number) => transferFolder(port, 'move') },
    { name: `delete ${of}`, files, request: (port: number) => send(port, '/delete_folder/f', { method: 'DELETE' }) },
  ];
});

export const COST_CASES: readonly CostCase[] = [...ONE_FILE, ...FOLDERS];

/** Starts the service for a case and performs its preparation. */
export async function serveCase({ files, trust, before }: CostCase): Promise<Served> {
  const served = await serveRepository(await files?.(), { trust });
  await (before ? before(served) : listRoot(served.port));
  return served;
}
