import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { after, before, describe, it } from 'node:test';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { PERMISSIONS, type Permission } from '../../src/access/policy.ts';
import { parseFolder, ROOT } from '../../src/model/path.ts';
import { disk, memory } from '../contract/backend.ts';
import { assertFailure, send } from '../http/client.ts';
import { startService, type TestService } from '../http/service.ts';
import { openTestAccess, type TestAccess } from './clients.ts';
import { type DocumentedRow, readDocumentedNeeds } from './documented-needs.ts';
import { REQUESTS } from './requests.ts';

const ROWS = await readDocumentedNeeds();

/** Calls `use` with each application that is created during `work`, before it has any route. */
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

const HTTP_PARTS = ['body', 'querystring', 'params', 'headers'] as const;

/** Returns the schemas that the application validates. A body can have one per media type. */
function schemasOf({ schema }: RouteOptions): { httpPart: string; schema: object }[] {
  return HTTP_PARTS.flatMap((httpPart) => {
    const part = schema?.[httpPart];
    if (typeof part !== 'object' || part === null) return [];
    if (!('content' in part)) return [{ httpPart, schema: part }];
    return Object.values(part.content as Record<string, { schema: object }>).map((each) => ({ httpPart, ...each }));
  });
}

/** Routes that respond with 404 to every method. */
const WITHOUT_METHODS = ['/-/*', '/-/malformed', '/-/docs/*', '/-/link-without-slash', '/-/link', '/-/link/session'];

describe('The routes', () => {
  /** The routes at registration. A plugin may add their declarations later. */
  const routes: { readonly method: readonly string[]; readonly url: string; readonly route: RouteOptions }[] = [];
  let app: FastifyInstance;
  let access: TestAccess;
  let service: TestService;

  before(async () => {
    access = await openTestAccess();
    const { control, publicUrl, port } = access;
    service = await withApplications(
      (made) => {
        app = made;
        made.addHook('onRoute', (route) => {
          routes.push({ method: [route.method].flat(), url: route.url, route });
        });
      },
      () => startService(disk, { access: control, publicUrl, port, hasJobs: true }),
    );
  });
  after(async () => {
    await service.stop();
    await access.close();
  });

  it('declare the access that the docs list, or respond with 405', async () => {
    const unlisted = new Set<string>();
    for (const { url, method, route } of routes) {
      // The permissions of WebDAV are in tests/http/dav.test.ts.
      if (url.startsWith('/-/dav')) continue;
      for (const name of method) {
        const row = rowOf(name, url);
        if (row) assert.ok(DECLARED[kindOf(row)].includes(route.config?.access ?? ''), `${name} ${url}`);
        else unlisted.add(`${name} ${url}`);
      }
    }
    assert.ok(unlisted.size > 50);
    for (const route of unlisted) {
      const [method = '', url = ''] = route.split(' ');
      const { statusCode, headers, body } = await app.inject({
        method: method as 'GET',
        url: url.replace('*', 'a.txt'),
      });
      if (method === 'OPTIONS' && (headers.allow ?? headers['tus-version'])) assert.equal(statusCode, 204, route);
      else if (WITHOUT_METHODS.includes(url)) assert.equal(statusCode, 404, `${route}: ${body}`);
      else assert.equal(statusCode, 405, `${route}: ${body}`);
    }
  });

  it('have schemas that the validator can compile', () => {
    let compiled = 0;
    for (const { url, method, route } of routes) {
      for (const { httpPart, schema } of schemasOf(route)) {
        const compile = route.validatorCompiler ?? app.validatorCompiler;
        const validate = compile?.({ schema, httpPart, url, method: method.join() });
        assert.doesNotThrow(() => validate?.({}), `${method.join()} ${url}: ${httpPart}`);
        compiled += 1;
      }
    }
    assert.ok(compiled > 50, `${compiled} schemas`);
  });

  it('include every route in the docs', () => {
    const urls = routes.flatMap(({ url, method }) => method.map((name) => ({ url, name })));
    for (const row of ROWS) {
      assert.ok(row.routes.length > 0, row.title);
      for (const route of row.routes) {
        const isRegistered = urls.some(({ url, name }) => name === route.method && includesRoute(route.url, url));
        assert.ok(isRegistered, `${row.title}: ${route.method} ${route.url}`);
      }
    }
  });

  it('have a request in the permission tests if they require rights', () => {
    const needing = ROWS.filter(({ needs }) => needs.length > 0);
    assert.deepEqual(Object.keys(REQUESTS).toSorted(), needing.map(({ title }) => title).toSorted());
    for (const { title, routes: documented } of needing) {
      for (const { method, url } of documented) {
        const isTested = REQUESTS[title]?.some((request) => request.method === method && isSentTo(url, request.path));
        assert.ok(isTested, `${title}: ${method} ${url}`);
      }
    }
  });

  it('without required rights respond to unauthenticated clients', async () => {
    access.grant([]);
    for (const { title, routes: documented } of ROWS.filter((row) => kindOf(row) === 'nothing')) {
      for (const { method, url } of documented) {
        const { status } = await send(service.port, url.replace('*', 'json'), { method });
        assert.ok(![401, 403].includes(status) && status < 500, `${title}, ${method} ${url}: ${status}`);
      }
    }
  });

  it('for users who manage the root refuse all others, before they read the body', async () => {
    const documented = ROWS.filter(({ needsRoot }) => needsRoot).flatMap((row) => row.routes);
    const clients = (await access.clients()).filter(({ method }) => ['no credentials', 'a token'].includes(method));
    assert.ok(documented.length >= 9 && clients.length === 2);
    for (const { method: authMethod, subject, headers, refusal } of clients) {
      const below = { folder: parseFolder('top'), to: subject, permissions: PERMISSIONS };
      const atRoot = (permissions: readonly Permission[]) => ({ folder: ROOT, to: subject, permissions });
      for (const [grants, isAllowed] of [
        [[], false],
        [[below, atRoot(['read', 'write'])], false],
        [[atRoot(['manage'])], authMethod !== 'no credentials'],
      ] as const) {
        access.grant([...grants]);
        for (const { method, url } of documented) {
          const name = `${method} ${url} with ${authMethod} and ${grants.length} grants`;
          const { status, body } = await send(service.port, url.replaceAll('*', '0'), { method, headers, body: '{' });
          if (isAllowed)
            assert.ok(![401, 403].includes(status) && status < 500, `${name}: ${status} ${body.toString()}`);
          else assert.equal(status, refusal, `${name}: ${body.toString()}`);
        }
      }
    }
  });

  it('with required rights return 401 to unauthenticated clients, also for missing files', async () => {
    access.grant([]);
    for (const path of ['/file/a', '/thumb/a', '/a/', '/', '/?prefix=-/', '/?prefix=file/']) {
      assertFailure(await send(service.port, path), 401, /^Sign in to /);
    }
  });

  it('prevent the start of the service if one does not declare its access', async () => {
    const start = withApplications(
      // A plugin may add a route.
      (made) => void made.register(async (plugin) => void plugin.get('/-/bare', async () => 'anything')),
      () => startService(memory),
    );
    await assert.rejects(start, /^Error: These routes do not declare config\.access: GET \/-\/bare; HEAD \/-\/bare\.$/);
  });
});

/** Returns the table row of a route. HEAD requires the same rights as GET. */
function rowOf(method: string, url: string): DocumentedRow | undefined {
  const methods = method === 'HEAD' ? ['GET', 'HEAD'] : [method];
  return ROWS.find(({ routes }) =>
    routes.some((route) => methods.includes(route.method) && includesRoute(route.url, url)),
  );
}

/** Returns whether a documented path includes the path of a route. A `*` below `/-/` stands for several routes. */
function includesRoute(documented: string, url: string): boolean {
  const path = url.replaceAll(/:\w+/g, '*');
  if (path === documented) return true;
  return (
    documented.startsWith('/-/') &&
    documented.endsWith('/*') &&
    !path.includes('*') &&
    path.startsWith(documented.slice(0, -1))
  );
}

/** Returns whether a request goes to the route of a documented path. */
function isSentTo(documented: string, path: string): boolean {
  const [bare = ''] = path.split('?');
  const [start = '', end] = documented.split('*');
  return end === undefined ? bare === documented : bare.startsWith(start) && bare.endsWith(end);
}

function kindOf({ needs, isSigned, needsRoot }: DocumentedRow): keyof typeof DECLARED {
  if (isSigned) return 'signature';
  if (needsRoot) return 'root';
  return needs.length > 0 ? 'rights' : 'nothing';
}

/** The access that the routes of a row declare. */
const DECLARED: Readonly<Record<'rights' | 'root' | 'signature' | 'nothing', readonly string[]>> = {
  rights: ['files'],
  root: ['root'],
  signature: ['signature'],
  nothing: ['public', 'health', 'jobs', 'links', 'app-tokens'],
};
