import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it, type TestContext } from 'node:test';
import { COST_CASES, type Cost, costOf, type Served, serveCase } from '../../testing/servers/github-costs.ts';

const PAGE = new URL('../../docs/reference/stores-github.md', import.meta.url);

/** Tests the documented costs of some requests to GitHub, or of all. */
export function testGitHubCosts(names?: readonly string[]): void {
  describe('The documented cost of requests', () => {
    for (const costCase of COST_CASES) {
      const { name, request } = costCase;
      if (names && !names.includes(name)) continue;
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
}

function ending(t: TestContext, served: Served): Served {
  t.after(served.stop);
  return served;
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
