import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { after, before, describe, it } from 'node:test';
import type { Grant } from '../../src/access/policy.ts';
import type { FolderPath } from '../../src/domain/path.ts';
import type { Store } from '../../src/domain/store.ts';
import type { Backend } from '../contract/backend.ts';
import { type Answer, send } from '../http/client.ts';
import { startService, type TestService } from '../http/service.ts';
import { type Asker, type Gate, openGate, WAYS, type Way } from './askers.ts';
import { DEEDS, type Deed } from './deeds.ts';
import { type DocumentedRow, type Need, readDocumentedNeeds } from './documented-needs.ts';
import { allAt, type Situation, situationsAt } from './situations.ts';
import { type PlantedStore, plantStore, SOURCE } from './tree.ts';
import { watchStore } from './watched-store.ts';

const ROWS = await readDocumentedNeeds();

export interface TableOptions {
  /** The ways in that are crossed with the rare situations too. */
  readonly thorough?: readonly Way[];
}

/** Sends every request, in every way in, in every situation, and holds the service to the table of the docs. */
export function accessTable(backend: Backend, { thorough = [] }: TableOptions = {}): void {
  describe(`Who may do what: ${backend.name}`, () => {
    let gate: Gate;
    let planted: Planted;
    /** The same service with nothing in its store. */
    let empty: TestService;
    let askers: readonly Asker[];

    before(async () => {
      gate = await openGate();
      const { access, publicUrl } = gate;
      planted = await plantService(backend, gate);
      empty = await startService(backend, { access, publicUrl });
      askers = await gate.askers();
    });
    after(async () => {
      CONNECTIONS.destroy();
      await planted.service.stop();
      await empty.stop();
      await gate.close();
    });

    for (const way of WAYS) {
      describe(`by ${way}`, () => {
        for (const row of ROWS.filter(({ title }) => DEEDS[title])) {
          it(`To ${row.title.toLowerCase()}`, async () => {
            const asker = askers.find((candidate) => candidate.way === way) ?? assert.fail(way);
            for (const cell of cellsOf(row, asker, thorough.includes(way))) {
              gate.grant(cell.grants);
              await checkCell(cell, asker, planted, empty);
            }
          });
        }
      });
    }
  });
}

/** A service whose store is put right after each change, and the members by which it was changed. */
interface Planted {
  readonly service: TestService;
  readonly tree: PlantedStore;
  /** The members that could have changed something since the last call. */
  changes(): readonly string[];
}

async function plantService(backend: Backend, { access, port, publicUrl }: Gate): Promise<Planted> {
  const calls: string[] = [];
  let bare: Store | undefined;
  const service = await startService(backend, {
    access,
    port,
    publicUrl,
    wrap(store) {
      bare = store;
      return watchStore(store, (member) => calls.push(member));
    },
  });
  const tree = await plantStore(bare ?? assert.fail());
  return { service, tree, changes: () => calls.splice(0) };
}

/** A request in a situation, and what comes of it by the table. */
interface Cell {
  readonly name: string;
  readonly deed: Deed;
  readonly situation: Situation;
  readonly grants: readonly Grant[];
  readonly row: DocumentedRow;
  readonly isAllowed: boolean;
}

function cellsOf(row: DocumentedRow, { way, subject }: Asker, isThorough: boolean): readonly Cell[] {
  const deeds = DEEDS[row.title] ?? assert.fail(row.title);
  const situations = (folder: FolderPath) => {
    const { usual, rare } = situationsAt(folder, subject);
    return isThorough ? [...usual, ...rare] : usual;
  };
  return deeds.flatMap((deed) => {
    const { method, path, destination } = deed;
    const cellOf = (place: Need['at'], situation: Situation, others: readonly Grant[]): Cell => ({
      name: `${row.title}, ${method} ${path}, by ${way}, with ${situation.name} at the ${place}`,
      deed,
      situation,
      grants: [...situation.grants, ...others],
      row,
      isAllowed: row.needs.every(
        ({ at, right, throughout }) =>
          at !== place || (throughout ? situation.throughout : situation.rights).includes(right),
      ),
    });
    if (destination === undefined) return situations(SOURCE).map((there) => cellOf('source', there, []));
    return [
      ...situations(SOURCE).map((there) => cellOf('source', there, [allAt(destination, subject)])),
      ...situations(destination).map((there) => cellOf('destination', there, [allAt(SOURCE, subject)])),
    ];
  });
}

async function checkCell(cell: Cell, asker: Asker, { service, tree, changes }: Planted, empty: TestService) {
  const { name, deed, situation, row, isAllowed } = cell;
  const answer = await ask(service, deed, asker);
  const isListing = row.title === 'List a folder';
  if (isAllowed || (isListing && situation.ways)) {
    assert.equal(answer.status, 200, `${name}: ${answer.body.toString()}`);
    if (isListing) checkListing(cell, answer);
    const isChanging = row.needs.some(({ right }) => right !== 'read');
    assert.equal(changes().length > 0, isChanging, name);
    if (isChanging) assert.ok(!(await tree.putRight()), name);
    return;
  }
  assert.equal(answer.status, asker.refusal, `${name}: ${answer.body.toString()}`);
  checkRefusal(cell, asker, answer);
  const attempts = changes();
  if (attempts.length > 0) assert.ok(await tree.putRight(), name);
  // Who may only add is told what is there already: only trying it finds out.
  if (row.title === 'Upload over a file' && situation.rights.includes('write')) return;
  assert.deepEqual(
    attempts.filter((member) => member !== 'stage'),
    [],
    name,
  );
  if (TOLD_APART.has(asker.way)) assert.deepEqual(comparable(await ask(empty, deed, asker)), comparable(answer), name);
}

/** The ways in whose refusals are compared with those for what is not there: one for each status. */
const TOLD_APART: ReadonlySet<Way> = new Set(['nothing', 'a session']);

/** Thousands of requests would else each open one. */
const CONNECTIONS = new Agent({ keepAlive: true });

function ask({ port }: TestService, { path, headers, ...deed }: Deed, asker: Asker): Promise<Answer> {
  return send(port, path, { ...deed, headers: { ...headers, ...asker.headers }, agent: CONNECTIONS });
}

/** What shows in a listing is what there is but for what is closed, or where reading is not allowed the ways alone. */
function checkListing({ name, deed, situation, isAllowed }: Cell, { body }: Answer): void {
  if (deed.method === 'HEAD') return;
  const all = ['picture.png', 'sub/', 'x.txt'].map((child) => SOURCE + child);
  const { entries, rights } = JSON.parse(body.toString()) as { entries: { path: string }[]; rights: string[] };
  assert.deepEqual(
    entries.map(({ path }) => path),
    isAllowed ? all.filter((path) => !situation.hidden.some((hidden) => hidden === path)) : situation.ways,
    name,
  );
  assert.deepEqual(rights, situation.rights, name);
}

/** A refusal is the envelope of a failure, and nothing that a file or folder would come with. */
function checkRefusal({ name, deed }: Cell, { refusal }: Asker, { headers, body }: Answer): void {
  for (const header of ['etag', 'last-modified', 'location', 'content-range', 'content-disposition']) {
    assert.equal(headers[header], undefined, name);
  }
  assert.equal(headers['www-authenticate'] !== undefined, refusal === 401, name);
  if (deed.method === 'HEAD') return;
  const { success, error, ...others } = JSON.parse(body.toString());
  assert.deepEqual({ success, others }, { success: false, others: {} }, name);
  assert.match(error, /^(?:Sign in to|You are signed in as) .+\.$/, name);
}

/** An answer without what differs between any two. */
function comparable({ status, headers, body }: Answer): unknown {
  const { date: _, 'x-request-id': __, ...rest } = headers;
  return { status, headers: rest, body: body.toString() };
}
