import sharp from 'sharp';
import { type Answer, escapePath, followLocation, postForm, postJson, send } from '../http/client.ts';
import { type Content, contentOf, createLedger, type Ledger, type State } from './ledger.ts';
import { createSender, type Operation } from './operations.ts';

/** Where clients go, and what they may expect there. */
export interface Service {
  readonly port: number;
  /** Bytes of a large file: on a bucket, one that goes in parts. */
  readonly large: number;
}

/** Somebody who works in a folder of its own. */
export interface Client {
  readonly home: string;
  readonly ledger: Ledger;
  readonly operations: readonly Operation[];
  /** What it read that may not have been there. */
  readonly wrong: readonly string[];
  /** Does one round of its work. */
  work(): Promise<void>;
}

/** What there is to fetch at a path, wherever a redirect leads. */
export async function fetchFile(port: number, path: string): Promise<Answer> {
  const asked = `/file/${escapePath(path)}`;
  const answer = await send(port, asked);
  return answer.status === 302 ? followLocation(port, asked, answer.headers.location ?? '') : answer;
}

/** What the clients do, by what they are called. */
export const ROLES = { writer: writing, carrier: carrying, mover: moving, viewer: viewing } as const;

/** A client of this role, whose folder is not there yet, and who rests for so many milliseconds behind each request. */
export function createClient(service: Service, role: keyof typeof ROLES, home: string, pause: number): Client {
  const ledger = createLedger();
  const sender = createSender(pause);
  const wrong: string[] = [];
  const desk = createDesk(service, home, { ledger, sender, wrong });
  const work = ROLES[role](desk, service);
  let round = 0;
  return { home, ledger, operations: sender.operations, wrong, work: () => work(round++) };
}

/** Requests about files of one client, which hold the answers to its ledger. */
interface Desk {
  upload(name: string, content: Content): Promise<boolean>;
  remove(name: string): Promise<boolean>;
  /** Moves a folder with these files. */
  moveFolder(from: string, to: string, files: ReadonlyMap<string, Content>): Promise<boolean>;
  fetch(name: string): Promise<void>;
  list(folder: string): Promise<void>;
  /** Its thumbnail, where there was one. */
  thumbnail(name: string): Promise<Buffer | undefined>;
  complain(about: string): void;
}

interface Papers {
  readonly ledger: Ledger;
  readonly sender: ReturnType<typeof createSender>;
  readonly wrong: string[];
}

function createDesk({ port }: Service, home: string, { ledger, sender, wrong }: Papers): Desk {
  /** Has states asked for at these paths, and sends the request until that is done. */
  const change = async (
    kind: string,
    states: ReadonlyMap<string, State>,
    request: () => Promise<Answer>,
    how = {},
  ): Promise<boolean> => {
    const settle = [...states].map(([path, state]) => ledger.ask(path, state));
    const tries = await sender.untilDone(kind, request, how);
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
      return change('delete', new Map([[path, undefined]]), request, { isGone: true });
    },
    moveFolder(from, to, files) {
      const states = new Map<string, State>();
      for (const [name, content] of files)
        states.set(`${home}${from}${name}`, undefined).set(`${home}${to}${name}`, content);
      const body = { source: home + from, destination: home + to, is_folder: true };
      return change('move', states, () => postJson(port, '/move', body), { isGone: true });
    },
    async fetch(name) {
      const path = home + name;
      const answer = await sender.once('fetch', () => fetchFile(port, path), [200, 404]);
      if (!answer) return;
      const found = answer.status === 200 ? answer.body : undefined;
      if (!ledger.allows(path, found)) wrong.push(`fetched ${path}: ${describe(found)}`);
    },
    async list(folder) {
      const prefix = home + folder;
      const answer = await sender.once('list', () => send(port, `/?prefix=${encodeURIComponent(prefix)}`));
      if (!answer) return;
      const { entries } = JSON.parse(answer.body.toString()) as { entries: { path: string; type: string }[] };
      const shown = new Set(entries.filter(({ type }) => type === 'file').map(({ path }) => path));
      const here = ledger.paths().filter((path) => path.startsWith(prefix) && !path.slice(prefix.length).includes('/'));
      for (const path of here) if (ledger.mustShow(path) && !shown.has(path)) wrong.push(`not listed: ${path}`);
      for (const path of shown) if (!ledger.mayShow(path)) wrong.push(`listed: ${path}`);
    },
    async thumbnail(name) {
      const answer = await sender.once('thumbnail', () => send(port, `/thumb/${escapePath(home + name)}`));
      return answer?.body;
    },
    complain: (about) => void wrong.push(`${home}: ${about}`),
  };
}

const describe = (found: Buffer | undefined) =>
  found === undefined ? 'nothing' : `${found.length} bytes, "${found.subarray(0, 40).toString('latin1')}"`;

/** Files that a writer, a carrier and a viewer keep at the most. */
const KEPT = 12;
const KEPT_LARGE = 2;

type Work = (round: number) => Promise<void>;

/** Small files: new ones, replaced ones, and deleted ones. */
function writing(desk: Desk): Work {
  return async (round) => {
    const isUploaded = await desk.upload(`file ${round}`, contentOf(`new ${round}`, 1000 + ((round * 7919) % 60_000)));
    if (isUploaded) await desk.fetch(`file ${round}`);
    await desk.upload('replaced', contentOf(`version ${round}`, 20_000 + round));
    await desk.fetch('replaced');
    await desk.list('');
    if (round >= KEPT) await desk.remove(`file ${round - KEPT}`);
  };
}

function carrying(desk: Desk, { large }: Service): Work {
  return async (round) => {
    const name = `large ${round % KEPT_LARGE}`;
    await desk.upload(name, contentOf(`large ${round}`, large + round));
    await desk.fetch(name);
  };
}

/** A folder that goes from place to place. */
function moving(desk: Desk): Work {
  const files = new Map(
    Array.from({ length: 12 }, (_, index) => [`${index % 2}/file ${index}`, contentOf(`moved ${index}`, 500 + index)]),
  );
  return async (round) => {
    if (round === 0) for (const [name, content] of files) await desk.upload(`at 0/${name}`, content);
    await desk.moveFolder(`at ${round}/`, `at ${round + 1}/`, files);
    for (const folder of ['0/', '1/']) await desk.list(`at ${round + 1}/${folder}`);
    await desk.fetch(`at ${round + 1}/0/file 0`);
  };
}

/** Pictures, each looked at as it comes. */
function viewing(desk: Desk): Work {
  let expected: Buffer | undefined;
  return async (round) => {
    const picture = await PICTURE;
    const name = `picture ${round}.jpg`;
    await desk.upload(name, { size: picture.length, bytes: () => picture });
    const drawn = await desk.thumbnail(name);
    expected ??= drawn;
    if (drawn && !expected?.equals(drawn)) desk.complain(`another thumbnail of ${name}, ${drawn.length} bytes`);
    await desk.list('');
    if (round >= KEPT) await desk.remove(`picture ${round - KEPT}.jpg`);
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
