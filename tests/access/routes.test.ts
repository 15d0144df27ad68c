import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { after, before, describe, it } from 'node:test';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { disk, memory } from '../contract/backend.ts';
import { assertFailure, send } from '../http/client.ts';
import { startService, type TestService } from '../http/service.ts';
import { type Gate, openGate } from './askers.ts';
import { DEEDS } from './deeds.ts';
import { type DocumentedRow, readDocumentedNeeds } from './documented-needs.ts';

const ROWS = await readDocumentedNeeds();

/** Does something with each application that is made while `work` runs, before it has any route. */
async function withApplications<Result>(
  use: (app: FastifyInstance) => void,
  work: () => Promise<Result>,
): Promise<Result> {
  const listen = (message: unknown) => use((message as { fastify: FastifyInstance }).fastify);
  subscribe('fastify.initialization', listen);
  try {
    return await work();
  } finally {
    unsubscribe('fastify.initialization', listen);
  }
}

describe('The routes', () => {
  /** As they are registered: what they declare may be added to them later. */
  const routes: { readonly method: readonly string[]; readonly url: string; readonly route: RouteOptions }[] = [];
  let app: FastifyInstance;
  let gate: Gate;
  let service: TestService;

  before(async () => {
    gate = await openGate();
    const { access, publicUrl, port } = gate;
    service = await withApplications(
      (made) => {
        app = made;
        made.addHook('onRoute', (route) => {
          routes.push({ method: [route.method].flat(), url: route.url, route });
        });
      },
      () => startService(disk, { access, publicUrl, port }),
    );
  });
  after(async () => {
    await service.stop();
    await gate.close();
  });

  it('are in the table of the docs, with what they declare, or answer nothing', async () => {
    const unlisted = new Set<string>();
    for (const { url, method, route } of routes) {
      for (const name of method) {
        const row = rowOf(name, url);
        if (row) assert.ok(DECLARED[kindOf(row)].includes(route.config?.access ?? ''), `${name} ${url}`);
        else unlisted.add(`${name} ${url}`);
      }
    }
    assert.ok(unlisted.size > 500);
    for (const route of unlisted) {
      const [method = '', url = ''] = route.split(' ');
      const { statusCode, headers, body } = await app.inject({
        method: method as 'GET',
        url: url.replace('*', 'a.txt'),
        // Without a type, QUERY would be refused for the lack of it.
        headers: { 'content-type': 'application/json' },
        payload: '{}',
      });
      if (method === 'OPTIONS' && headers.allow !== undefined) assert.equal(statusCode, 204, route);
      else if (['/-/*', '/-/malformed', '/-/docs/*'].includes(url)) assert.equal(statusCode, 404, `${route}: ${body}`);
      else assert.equal(statusCode, 405, `${route}: ${body}`);
    }
  });

  it('are all that the table has', () => {
    const urls = routes.flatMap(({ url, method }) => method.map((name) => ({ url, name })));
    for (const row of ROWS) {
      assert.ok(row.routes.length > 0, row.title);
      for (const route of row.routes) {
        const isThere = urls.some(({ url, name }) => name === route.method && isMeant(route.url, url));
        assert.ok(isThere, `${row.title}: ${route.method} ${route.url}`);
      }
    }
  });

  it('are all tried, as far as they need rights', () => {
    const needing = ROWS.filter(({ needs }) => needs.length > 0);
    assert.deepEqual(Object.keys(DEEDS).toSorted(), needing.map(({ title }) => title).toSorted());
    for (const { title, routes: documented } of needing) {
      for (const { method, url } of documented) {
        const isTried = DEEDS[title]?.some((deed) => deed.method === method && isSentTo(url, deed.path));
        assert.ok(isTried, `${title}: ${method} ${url}`);
      }
    }
  });

  it('that need nothing answer anybody', async () => {
    gate.grant([]);
    for (const { title, routes: documented } of ROWS.filter((row) => kindOf(row) === 'nothing')) {
      for (const { method, url } of documented) {
        const { status } = await send(service.port, url.replace('*', 'json'), { method });
        assert.ok(![401, 403].includes(status) && status < 500, `${title}, ${method} ${url}: ${status}`);
      }
    }
  });

  it('that need something refuse whoever has nothing, whatever the path', async () => {
    gate.grant([]);
    for (const path of ['/file/a', '/thumb/a', '/a/', '/', '/?prefix=-/', '/?prefix=file/']) {
      assertFailure(await send(service.port, path), 401, /^Sign in to /);
    }
  });

  it('must each say what they need: the service does not start with one that does not', async () => {
    const start = withApplications(
      // As a plugin that brings one along.
      (made) => void made.register(async (plugin) => void plugin.get('/-/bare', async () => 'anything')),
      () => startService(memory),
    );
    await assert.rejects(
      start,
      /^Error: These routes do not say what access they need: GET \/-\/bare; HEAD \/-\/bare\.$/,
    );
  });
});

/** The row of the table that a route is in; HEAD needs what GET needs. */
function rowOf(method: string, url: string): DocumentedRow | undefined {
  const asked = method === 'HEAD' ? 'GET' : method;
  return ROWS.find(({ routes }) => routes.some((route) => route.method === asked && isMeant(route.url, url)));
}

/** Whether a path of the table means that of a route: below `/-/` many at once. */
function isMeant(documented: string, url: string): boolean {
  if (documented.startsWith('/-/') && documented.endsWith('/*')) return url.startsWith(documented.slice(0, -1));
  return documented === url;
}

/** Whether a request goes to the route of a path of the table. */
function isSentTo(documented: string, path: string): boolean {
  const [bare = ''] = path.split('?');
  return documented.endsWith('*') ? bare.startsWith(documented.slice(0, -1)) : bare === documented;
}

function kindOf({ needs, isSigned }: DocumentedRow): keyof typeof DECLARED {
  if (isSigned) return 'signature';
  return needs.length > 0 ? 'rights' : 'nothing';
}

/** What the routes of a row declare. */
const DECLARED: Readonly<Record<'rights' | 'signature' | 'nothing', readonly string[]>> = {
  rights: ['files'],
  signature: ['signature'],
  nothing: ['public', 'health'],
};
