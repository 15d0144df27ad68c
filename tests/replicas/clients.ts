import sharp from 'sharp';
import { escapePath, followLocation, type HttpResponse, postForm, postJson, send } from '../http/client.ts';
import { type Content, contentOf, createLedger, type Ledger, type State } from './ledger.ts';
import { createSender, type Operation, type RetryOptions } from './operations.ts';

/** The service that the clients use. */
export interface Service {
  readonly port: number;
  /** The size of a large file in bytes. A bucket gets it in parts. */
  readonly large: number;
}

/** A client that works in its own folder. */
export interface Client {
  readonly home: string;
  readonly ledger: Ledger;
  readonly operations: readonly Operation[];
  /** What it read and must not have read. */
  readonly wrong: readonly string[];
  /** Sends one round of requests. */
  work(): Promise<void>;
}

/** Fetches a file and follows the redirect. */
export async function fetchFile(port: number, path: string): Promise<HttpResponse> {
  const requested = `/file/${escapePath(path)}`;
  const response = await send(port, requested);
  return response.status === 302 ? followLocation(port, requested, response.headers.location ?? '') : response;
}

/** The rounds of each kind of client. */
export const ROLES = {
  writer: writeSmallFiles,
  carrier: transferLargeFiles,
  mover: moveFolders,
  viewer: viewThumbnails,
} as const;

/** Creates a client of this role, which pauses for so many milliseconds after each request. Its folder must not exist. */
export function createClient(service: Service, role: keyof typeof ROLES, home: string, pause: number): Client {
  const ledger = createLedger();
  const sender = createSender(pause);
  const wrong: string[] = [];
  const work = ROLES[role](createActions(service, home, { ledger, sender, wrong }), service);
  let round = 0;
  return { home, ledger, operations: sender.operations, wrong, work: () => work(round++) };
}

/** The requests of a client, which compare the responses with its ledger. */
interface Actions {
  upload(name: string, content: Content): Promise<boolean>;
  remove(name: string): Promise<boolean>;
  /** Moves a folder with these files. */
  moveFolder(from: string, to: string, files: ReadonlyMap<string, Content>): Promise<boolean>;
  fetch(name: string): Promise<void>;
  list(folder: string): Promise<void>;
  /** Returns the thumbnail if the request was acknowledged. */
  thumbnail(name: string): Promise<Buffer | undefined>;
  report(problem: string): void;
}

interface Records {
  readonly ledger: Ledger;
  readonly sender: ReturnType<typeof createSender>;
  readonly wrong: string[];
}

function createActions({ port }: Service, home: string, { ledger, sender, wrong }: Records): Actions {
  /** Notes the requested states of these paths, and sends the request until it is acknowledged. */
  const change = async (
    kind: string,
    states: ReadonlyMap<string, State>,
    request: () => Promise<HttpResponse>,
    options: RetryOptions = {},
  ): Promise<boolean> => {
    const settle = [...states].map(([path, state]) => ledger.ask(path, state));
    const tries = await sender.untilDone(kind, request, options);
    if (tries > 0) for (const each of settle) each(tries);
    return tries > 0;
  };
  return {
    async upload(name, content) {
      const path = home + name;
      const slash = path.lastIndexOf('/') + 1;
      const parts = [
        { name: 'prefix', value: path.slice(0, slash) },
        { name: 'file', filename: path.slice(slash), value: content.bytes() },
      ];
      return change('upload', new Map([[path, content]]), () => postForm(port, parts));
    },
    remove(name) {
      const path = home + name;
      const request = () => send(port, `/delete/${escapePath(path)}`, { method: 'DELETE' });
      return change('delete', new Map([[path, undefined]]), request, { acceptNotFoundAfterRetry: true });
    },
    moveFolder(from, to, files) {
      const states = new Map<string, State>();
      for (const [name, content] of files)
        states.set(`${home}${from}${name}`, undefined).set(`${home}${to}${name}`, content);
      const body = { source: home + from, destination: home + to, is_folder: true };
      return change('move', states, () => postJson(port, '/move', body), { acceptNotFoundAfterRetry: true });
    },
    async fetch(name) {
      const path = home + name;
      const response = await sender.once('fetch', () => fetchFile(port, path), [200, 404]);
      if (!response) return;
      const found = response.status === 200 ? response.body : undefined;
      if (!ledger.allows(path, found)) wrong.push(`fetched ${path}: ${describe(found)}`);
    },
    async list(folder) {
      const prefix = home + folder;
      const response = await sender.once('list', () => send(port, `/?prefix=${encodeURIComponent(prefix)}`));
      if (!response) return;
      const { entries } = JSON.parse(response.body.toString()) as { entries: { path: string; type: string }[] };
      const shown = new Set(entries.filter(({ type }) => type === 'file').map(({ path }) => path));
      const here = ledger.paths().filter((path) => path.startsWith(prefix) && !path.slice(prefix.length).includes('/'));
      for (const path of here) if (ledger.mustShow(path) && !shown.has(path)) wrong.push(`not listed: ${path}`);
      for (const path of shown) if (!ledger.mayShow(path)) wrong.push(`listed: ${path}`);
    },
    async thumbnail(name) {
      const response = await sender.once('thumbnail', () => send(port, `/thumb/${escapePath(home + name)}`));
      return response?.body;
    },
    report: (problem) => void wrong.push(`${home}: ${problem}`),
  };
}

const describe = (found: Buffer | undefined) =>
  found === undefined ? 'nothing' : `${found.length} bytes, "${found.subarray(0, 40).toString('latin1')}"`;

/** The maximum number of small and large files that a client keeps. */
const KEPT = 12;
const KEPT_LARGE = 2;

type Work = (round: number) => Promise<void>;

/** Creates, replaces and deletes small files. */
function writeSmallFiles(actions: Actions): Work {
  return async (round) => {
    const isUploaded = await actions.upload(
      `file ${round}`,
      contentOf(`new ${round}`, 1000 + ((round * 7919) % 60_000)),
    );
    if (isUploaded) await actions.fetch(`file ${round}`);
    await actions.upload('replaced', contentOf(`version ${round}`, 20_000 + round));
    await actions.fetch('replaced');
    await actions.list('');
    if (round >= KEPT) await actions.remove(`file ${round - KEPT}`);
  };
}

function transferLargeFiles(actions: Actions, { large }: Service): Work {
  return async (round) => {
    const name = `large ${round % KEPT_LARGE}`;
    await actions.upload(name, contentOf(`large ${round}`, large + round));
    await actions.fetch(name);
  };
}

/** Moves a folder again and again. */
function moveFolders(actions: Actions): Work {
  const files = new Map(
    Array.from({ length: 12 }, (_, index) => [`${index % 2}/file ${index}`, contentOf(`moved ${index}`, 500 + index)]),
  );
  return async (round) => {
    if (round === 0) for (const [name, content] of files) await actions.upload(`at 0/${name}`, content);
    await actions.moveFolder(`at ${round}/`, `at ${round + 1}/`, files);
    for (const folder of ['0/', '1/']) await actions.list(`at ${round + 1}/${folder}`);
    await actions.fetch(`at ${round + 1}/0/file 0`);
  };
}

/** Uploads pictures and fetches their thumbnails. */
function viewThumbnails(actions: Actions): Work {
  let expected: Buffer | undefined;
  return async (round) => {
    const picture = await PICTURE;
    const name = `picture ${round}.jpg`;
    await actions.upload(name, { size: picture.length, bytes: () => picture });
    const drawn = await actions.thumbnail(name);
    expected ??= drawn;
    if (drawn && !expected?.equals(drawn)) actions.report(`another thumbnail of ${name}, ${drawn.length} bytes`);
    await actions.list('');
    if (round >= KEPT) await actions.remove(`picture ${round - KEPT}.jpg`);
  };
}

const PICTURE = sharp({
  create: {
    width: 640,
    height: 480,
    channels: 3,
    background: '#888',
    noise: { type: 'gaussian', mean: 128, sigma: 40 },
  },
})
  .jpeg()
  .toBuffer();
