import assert from 'node:assert/strict';
import { createHash, hash } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { childrenOf, type Owner, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { Replay } from '../../testing/power-loss/replay.ts';
import { SimulatedDisk, type Tree } from '../../testing/power-loss/simulated-disk.ts';
import { parseCalls, straceCommand } from '../../testing/power-loss/strace.ts';
import { BOUNDARY, type Call, formOf, type HttpResponse, jsonOf, send } from '../http/client.ts';

/** One acknowledged change of files or of the database. */
export interface Step {
  /** A noun phrase, such as "the upload of a file". */
  readonly title: string;
  /** Only the last request is judged. All others prepare it. */
  run(client: Client): Promise<unknown>;
}

/** Sends the requests of one step. Every response must have the status `status`, or be a success. */
export interface Client {
  send(path: string, call: Call, status?: number): Promise<HttpResponse>;
  get(path: string): Promise<Record<string, unknown>>;
  post(path: string, body: unknown): Promise<Record<string, unknown>>;
  delete(path: string): Promise<Record<string, unknown>>;
  upload(path: string, content: string, headers?: Readonly<Record<string, string>>): Promise<Record<string, unknown>>;
}

/** A disk at one moment. */
export interface Snapshot {
  /** What programs see. */
  readonly current: Tree;
  /** What a power loss would leave. */
  readonly afterPowerLoss: Tree;
}

/** What the last request of a step did to the simulated disk. */
export interface Outcome {
  /** The disk at the response before. */
  readonly previous: Snapshot;
  /** The disk at the response. */
  readonly after: Snapshot;
  /** The distinct states that a power loss could have left during the request, after each system call. */
  readonly during: readonly Tree[];
}

export interface Session {
  /** By the title of the step. */
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** The final contents of the simulated and the real disk, by path. */
  readonly simulated: Tree;
  readonly real: Tree;
}

/** The name of the served folder on the recorded disk. The service creates it. */
export const ROOT = 'root/';

/**
 * Runs the service under strace, sends the requests of all steps one after the other, and repeats the recorded system calls on
 * a simulated disk.
 */
export async function recordSession(
  t: Owner,
  steps: readonly Step[],
  settings: Readonly<Record<string, string>>,
): Promise<Session> {
  const folder = await temporaryFolder(t);
  const [disk, recording] = [join(folder, 'disk'), join(folder, 'recording')];
  await mkdir(disk);
  const holdall = await startHoldall(t, {
    root: join(disk, ROOT),
    settings: { TRUST_PROXY: 'loopback', ACCESS: 'open', THUMBNAIL_PROGRAMS: 'false', ...settings },
    command: straceCommand(recording, process.execPath),
  });
  for (const [index, { run }] of steps.entries()) await run(clientOf(holdall.port, index));
  // The service has no time to complete anything. strace ends after it, and then the recording is complete.
  for (const pid of childrenOf(holdall.pid)) process.kill(pid, 'SIGKILL');
  await holdall.ended;
  const { outcomes, simulated } = replay(await readFile(recording, 'latin1'), disk, steps);
  return { outcomes, simulated: simulated.current(), real: await readTree(disk) };
}

function clientOf(port: number, step: number): Client {
  const sendStep: Client['send'] = async (path, { headers, ...call }, status) => {
    const response = await send(port, path, { ...call, headers: { ...headers, 'x-request-id': requestIdOf(step) } });
    const isExpected =
      status === undefined ? response.status >= 200 && response.status < 300 : response.status === status;
    assert.ok(isExpected, `${path}: ${response.status} ${response.body.toString()}`);
    return response;
  };
  const sendJson = async (path: string, call: Call = {}) => jsonOf(await sendStep(path, call));
  const postBody = (path: string, type: string, body: Call['body'], headers: Call['headers'] = {}) =>
    sendJson(path, { method: 'POST', headers: { 'content-type': type, ...headers }, ...(body && { body }) });
  return {
    send: sendStep,
    get: (path) => sendJson(path),
    delete: (path) => sendJson(path, { method: 'DELETE' }),
    post: (path, body) => postBody(path, 'application/json', JSON.stringify(body)),
    upload(path, value, headers) {
      const slash = path.lastIndexOf('/') + 1;
      const parts = [
        { name: 'prefix', value: path.slice(0, slash) },
        { name: 'file', filename: path.slice(slash), value },
      ];
      return postBody('/upload', `multipart/form-data; boundary=${BOUNDARY}`, formOf(parts), headers);
    },
  };
}

const requestIdOf = (step: number): string => `power-loss-${step}`;

function replay(recording: string, root: string, steps: readonly Step[]) {
  const simulated = new SimulatedDisk();
  const calls = new Replay(simulated, root);
  const last = new Map<string, Outcome>();
  let previous = snapshotOf(simulated);
  let during = new States();
  for (const call of parseCalls(recording)) {
    const event = calls.apply(call);
    if (event?.type === 'disk') during.add(simulated);
    const [, id] = /^x-request-id: (.*)$/im.exec(event?.type === 'response' ? event.head : '') ?? [];
    if (id === undefined) continue;
    const after = snapshotOf(simulated);
    last.set(id.trim(), { previous, after, during: during.trees });
    [previous, during] = [after, new States()];
  }
  const outcomes = new Map<string, Outcome>();
  for (const [index, { title }] of steps.entries()) {
    const outcome = last.get(requestIdOf(index));
    assert.ok(outcome, `The recording has no response to the step "${title}".`);
    outcomes.set(title, outcome);
  }
  return { outcomes, simulated };
}

const snapshotOf = (disk: SimulatedDisk): Snapshot => ({
  current: disk.current(),
  afterPowerLoss: disk.afterPowerLoss(),
});

/** Distinct states of a disk after power losses. */
class States {
  readonly trees: Tree[] = [];
  readonly #known = new Set<string>();

  add(disk: SimulatedDisk): void {
    for (const tree of [disk.afterPowerLoss(), disk.afterPowerLossWithNames(), disk.afterPowerLossWithRemovals()]) {
      const files = Array.from(tree).filter(([path]) => !isDatabase(path));
      const key = digestOf(files);
      if (!this.#known.has(key)) this.trees.push(new Map(files));
      this.#known.add(key);
    }
  }
}

/** Returns a digest of the paths and contents, in any order. */
function digestOf(files: readonly (readonly [string, Buffer | null])[]): string {
  const digest = createHash('sha1');
  for (const [path, content] of files.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    digest.update(`${path}\0${content ? digestOfContent(content) : 'folder'}\0`);
  }
  return digest.digest('hex');
}

const knownDigests = new WeakMap<Buffer, string>();

function digestOfContent(content: Buffer): string {
  const known = knownDigests.get(content);
  if (known !== undefined) return known;
  const digest = hash('sha1', content);
  knownDigests.set(content, digest);
  return digest;
}

const isDatabase = (path: string): boolean => path.includes('.sqlite');

async function readTree(root: string): Promise<Tree> {
  const tree = new Map<string, Buffer | null>();
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const absolute = join(entry.parentPath, entry.name);
    const path = absolute.slice(root.length + 1);
    if (entry.isDirectory()) tree.set(`${path}/`, null);
    else tree.set(path, await readFile(absolute));
  }
  return tree;
}
