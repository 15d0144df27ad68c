import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { disk, memory } from '../contract/backend.ts';
import { assertFailure, BOUNDARY, type Call, formOf, type HttpResponse } from '../http/client.ts';
import { form, type GuardedService, grant, json, startGuardedService } from './guarded-service.ts';

/** A request of which all but the last bytes have arrived. */
interface IncompleteRequest {
  finish(): Promise<HttpResponse>;
}

for (const backend of [memory, disk]) {
  describe(`A request with a slow body: ${backend.name}`, () => {
    let service: GuardedService;
    before(async () => {
      service = await startGuardedService(backend);
    });
    after(() => service.stop());
    beforeEach(async () => {
      service.grant(grant('a/', PERMISSIONS));
      await service.plant(TREE);
    });

    const TREE = { 'a/old.txt': 'old' };
    const prefix = { name: 'prefix', value: 'a/' };
    const fileOf = (filename: string) => ({ name: 'file', filename, value: 'new' });
    const REQUESTS: readonly (readonly [path: string, call: Call])[] = [
      ['/upload', form([prefix, fileOf('new.txt')])],
      ['/upload', form([fileOf('new.txt'), prefix])],
      ['/upload', form([prefix, fileOf('old.txt')])],
      ['/upload', form([fileOf('old.txt'), prefix])],
      ['/rename/a/old.txt', json({ newName: 'other.txt' })],
      ['/move', json({ source: 'a/old.txt', destination: 'a/other.txt', is_folder: false })],
      ['/create_folder', json({ path: 'a/folder' })],
      ['/rename_folder/a', json({ newName: 'b' })],
    ];

    /** Sends everything except the end, and waits until the service processes the request. */
    const begin = async ([
      path,
      { headers = {}, body = '' },
    ]: (typeof REQUESTS)[number]): Promise<IncompleteRequest> => {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const bytes = Buffer.from(body);
      const request = httpRequest(
        {
          host: '127.0.0.1',
          port: service.port,
          path,
          method: 'POST',
          headers: { ...service.authHeaders, ...headers, 'content-length': bytes.length },
          agent: false,
        },
        resolve,
      );
      request.on('error', reject);
      await new Promise((sent) => request.write(bytes.subarray(0, -2), sent));
      // A later request gets a response, so the service has begun to process this one.
      assert.equal((await service.asAnn('/a/')).status, 200);
      return {
        async finish() {
          request.end(bytes.subarray(-2));
          const response = await promise;
          return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
        },
      };
    };

    it('is authorized by the policy in effect when its body is complete', async () => {
      for (const each of REQUESTS) {
        const late = await begin(each);
        service.grant(grant('a/', ['read']));
        assertFailure(await late.finish(), 403, /You are signed in as "ann" and don.t have permission to/);
        assert.deepEqual(await service.contents(), TREE, each[0]);
        service.grant(grant('a/', PERMISSIONS));
      }
    });

    it('returns 403 and replaces no file when the manage right is revoked during the upload', async () => {
      for (const each of REQUESTS.slice(2, 4)) {
        const late = await begin(each);
        service.grant(grant('a/', ['read', 'write']));
        assertFailure(await late.finish(), 403, /permission to replace "a\/old\.txt"/);
        assert.deepEqual(await service.contents(), TREE);
        service.grant(grant('a/', PERMISSIONS));
      }
    });

    /** Simulates the passage of more than a second, after which the service authenticates requests again. */
    const advanceClock = ({ mock }: TestContext) => {
      const now = performance.now.bind(performance);
      mock.method(performance, 'now', () => now() + 1100);
    };

    it('returns 401 when its credentials are revoked before the body is complete', async (test) => {
      service.grant(grant('a/', PERMISSIONS, { kind: 'everyone' }));
      const all = await Promise.all(REQUESTS.map(begin));
      advanceClock(test);
      service.removeAnn();
      for (const late of all) assertFailure(await late.finish(), 401, /Your session expired/);
      assert.deepEqual(await service.contents(), TREE);
    });

    it('succeeds regardless of duration when permissions are unchanged', async (test) => {
      const late = await begin(['/upload', { headers: FORM, body: formOf([prefix, fileOf('new.txt')]) }]);
      advanceClock(test);
      assert.equal((await late.finish()).status, 200);
      assert.deepEqual(await service.contents(), { ...TREE, 'a/new.txt': 'new' });
    });
  });
}

const FORM = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
