import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it, type TestContext } from 'node:test';
import {
  COST_CASES,
  type Cost,
  costOf,
  type Served,
  serveCase,
  serveRepository,
} from '../../testing/servers/github-costs.ts';
import { isFullForm } from '../full-forms.ts';
import { postForm } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['git'];

const PAGE = new URL('../../docs/reference/stores-github.md', import.meta.url);

describe('The documented cost of requests', () => {
  const representative = [
    'list, the first time',
    'list, later, nothing changed',
    'fetch, below 6 MB, cached',
    'upload, text up to 32 KiB',
    'move a file',
    'delete a folder of 10 files',
  ];
  for (const costCase of COST_CASES) {
    const { name, request } = costCase;
    if (!isFullForm && !representative.includes(name)) continue;
    it(`matches the requests to GitHub: ${name}`, async (t) => {
      const { host, port } = ending(t, await serveCase(costCase));
      host.forget();
      const { status } = await request(port);
      assert.ok(status < 400, `status ${status}`);
      const sent = host.requests.map(({ route, status: responded }) => `${responded} ${route}`);
      const cost = costOf(host.requests);
      assert.deepEqual((await readCosts()).get(name), cost, `${name}: ${sent.join(', ')}`);
      if (name.includes('folder of')) assert.ok(host.requests.length <= 6, sent.join(', '));
    });
  }

  it('covers exactly the tested cases', async () => {
    assert.deepEqual([...(await readCosts()).keys()].toSorted(), COST_CASES.map(({ name }) => name).toSorted());
  });
});

describe('A hundred uploads at once', () => {
  it('succeed and share few commits', async (t) => {
    const { host, port, repository } = ending(t, await serveRepository(undefined, { gatherFor: 50 }));
    const before = await countCommits();
    host.forget();
    const responses = await Promise.all(Array.from({ length: 100 }, (_, index) => uploadOne(port, index)));
    assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
    const commits = (await countCommits()) - before;
    assert.ok(commits >= 1 && commits <= 20, `${commits} commits`);
    const names = (await repository.git('ls-tree', '--name-only', `${repository.branch}:uploads`)).split('\n');
    assert.equal(names.length, 100);
    t.diagnostic(`${commits} commits, ${JSON.stringify(costOf(host.requests))}`);

    async function countCommits(): Promise<number> {
      return Number(await repository.git('rev-list', '--count', repository.branch));
    }
  });
});

function ending(t: TestContext, served: Served): Served {
  t.after(served.stop);
  return served;
}

function uploadOne(port: number, index: number) {
  return postForm(port, [
    { name: 'prefix', value: 'uploads' },
    { name: 'file', filename: `${index}.txt`, value: Buffer.alloc(4 * 1024, `text ${index} `) },
  ]);
}

/** Reads the table of costs: case, counted calls, and free calls. */
async function readCosts(): Promise<ReadonlyMap<string, Cost>> {
  const page = await readFile(PAGE, 'utf8').catch(() => '');
  const section = page.split(/^#+ /m).find((text) => /^.*\bcosts?\b/i.test(text.split('\n')[0] ?? '')) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  const cells = rows.slice(2).map((row) => row.split('|').map((cell) => cell.trim()));
  return new Map(
    cells.map(([, name = '', calls, free]) => [
      name.replace(/ [¹²]$/, ''),
      { calls: Number(calls), free: Number(free) },
    ]),
  );
}
