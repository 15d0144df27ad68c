import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, type OutgoingHttpHeaders, type RequestOptions, request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { atEnd, type LogLine, type Owner, temporaryFolder } from '../../testing/holdall.ts';
import { startConnectionCutter } from '../../testing/servers/connection-cutter.ts';
import { startDocumentedNginx } from '../../testing/servers/documented-nginx.ts';
import {
  documentedApache,
  documentedCaddy,
  documentedHaproxy,
  startProxy,
} from '../../testing/servers/documented-proxies.ts';
import { startNginx } from '../../testing/servers/nginx.ts';
import { type ServiceInProcess, startInProcess } from '../../testing/service.ts';
import { uploadByTus } from '../../testing/tus-client.ts';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['apache2', 'caddy', 'haproxy', 'nginx', 'tuspy'];

const MIB = 2 ** 20;

async function documentedNginx(t: Owner, service: number): Promise<number> {
  const nginx = await startDocumentedNginx([`127.0.0.1:${service}`]);
  atEnd(t, () => nginx.stop());
  return nginx.port;
}

/** nginx that stores each request before it passes it on, and limits its size, as most hosted proxies do. */
async function bufferingNginx(t: Owner, service: number): Promise<number> {
  const [port = 0] = await startNginx(t, [
    `client_max_body_size 1m; location / { proxy_pass http://127.0.0.1:${service}; proxy_request_buffering on; }`,
  ]);
  return port;
}

/** The proxies, and whether the service receives the start of a part whose connection breaks. */
const PROXIES: readonly (readonly [string, (t: Owner, service: number) => Promise<number>, boolean])[] = [
  ['nginx', documentedNginx, true],
  ['nginx with request buffering and a body limit', bufferingNginx, false],
  ['Caddy', async (t, service) => startProxy(t, await documentedCaddy(t, service)), true],
  ['Apache', async (t, service) => startProxy(t, await documentedApache(t, service)), true],
  ['HAProxy', async (t, service) => startProxy(t, await documentedHaproxy(t, service)), true],
];

describe('Uploads through reverse proxies', () => {
  let service: ServiceInProcess;
  const ports = new Map<string, number>();
  const endings: (() => Promise<void>)[] = [];
  before(async () => {
    const owner: Owner = { after: (ending) => void endings.push(ending) };
    const settings = { TRUST_PROXY: 'loopback', ACCESS: 'open' };
    service = await startInProcess(owner, { settings });
    for (const [name, start] of PROXIES) ports.set(name, await start(owner, service.port));
  });
  after(async () => {
    for (const ending of endings) await ending();
  });
  const portOf = (name: string) => ports.get(name) ?? assert.fail(name);

  for (const [name, start, streams] of PROXIES) {
    it(`arrive in parts with tus-js-client, also after a broken connection, and in one request: ${name}`, async (t) => {
      const port = portOf(name);
      const cutter = await startConnectionCutter(t, port);
      const path = `${name}/in parts é.bin`;
      const content = randomBytes(3 * MIB + 1);
      const offsets: number[] = [];
      const earlier = service.log.length;
      const isBrokenPart = ({ method, status }: LogLine) => method === 'PATCH' && status !== 204;
      cutter.cutAfter(1.5 * MIB);
      const { requests } = await uploadByTus({
        service: `http://127.0.0.1:${cutter.port}`,
        metadata: { path },
        content,
        chunkSize: MIB,
        async beforeRequest(method) {
          // On a busy machine, a proxy could send the broken part on later than the next request.
          if (method !== 'HEAD' || !streams) return;
          await until('the service has the broken part', () => service.log.slice(earlier).some(isBrokenPart));
        },
        onPart: (offset) => offsets.push(offset),
      });
      assert.equal(requests['PATCH 0'], 1, JSON.stringify(requests));
      assert.equal(requests['HEAD 200'], 1, JSON.stringify(requests));
      // The second part continues within, or begins again.
      const [first, second = 0, ...others] = offsets;
      assert.equal(first, MIB);
      assert.equal(second > 2 * MIB, streams, String(offsets));
      assert.equal(others.at(-1), content.length);
      const url = `http://127.0.0.1:${port}/file/${encodeURIComponent(name)}/`;
      const stored = await fetch(`${url}in%20parts%20%C3%A9.bin`);
      assert.ok(Buffer.from(await stored.arrayBuffer()).equals(content));

      const put = await fetch(`${url}put%2Bat%20once`, { method: 'PUT', body: content.subarray(0, MIB) });
      assert.equal(put.status, 201, await put.text());
      const location = new URL(put.headers.get('location') ?? '', url);
      assert.ok(Buffer.from(await (await fetch(location)).arrayBuffer()).equals(content.subarray(0, MIB)));
    });

    it(`work by Resumable Uploads for HTTP, and leave the connection usable: ${name}`, async (t) => {
      const port = portOf(name);
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      atEnd(t, () => agent.destroy());
      const content = randomBytes(MIB);
      const path = `/file/${encodeURIComponent(name)}/resumable`;
      const headers = {
        'upload-complete': '?1',
        'upload-draft-interop-version': '8',
        'content-length': content.length,
      };
      const put = await sendOn(agent, { port, path, method: 'PUT', headers }, content);
      assert.equal(put.status, 201);
      const stored = await sendOn(agent, { port, path });
      assert.ok(stored.body.equals(content));
      // nginx would take a 104 for the whole response.
      assert.equal(put.informed.length, name.startsWith('nginx') ? 0 : 1);
      for (const url of put.informed) {
        const state = await sendOn(agent, { port, path: url, method: 'HEAD' });
        assert.deepEqual([state.status, state.headers['upload-complete']], [204, '?1']);
      }
    });

    // The host that nginx sends by default is not that of `Destination`: the doctor reports it.
    if (start === bufferingNginx) continue;
    it(`and all other requests of WebDAV clients pass, with TLS terminated in front: ${name}`, async (t) => {
      const port = portOf(name);
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      atEnd(t, () => agent.destroy());
      const folder = `/-/dav/${encodeURIComponent(name)} dav`.replaceAll(' ', '%20');
      const content = randomBytes(MIB - 1);
      const dav = (method: string, path: string, headers: OutgoingHttpHeaders = {}, body?: Buffer | string) =>
        sendOn(agent, { port, path: `${folder}/${path}`, method, headers }, body);
      const statuses = async (...sent: readonly ReturnType<typeof dav>[]) =>
        (await Promise.all(sent)).map(({ status }) => status);

      const options = await dav('OPTIONS', '');
      assert.match(String(options.headers['dav']), /1, ?2/);
      assert.deepEqual(await statuses(dav('MKCOL', '')), [201]);
      // As Finder sends it: without a length.
      const chunked = { 'transfer-encoding': 'chunked', 'x-expected-entity-length': content.length };
      assert.deepEqual(await statuses(dav('PUT', 'a', chunked, content)), [201]);
      const length = { 'content-length': content.length };
      assert.deepEqual(await statuses(dav('PUT', 'b', { ...length, expect: '100-continue' }, content)), [201]);

      const info = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
      const locked = await dav('LOCK', 'a', { timeout: 'Second-60', 'content-type': 'application/xml' }, info);
      const token = String(locked.headers['lock-token']);
      assert.match(token, /^<.+>$/);
      assert.deepEqual(
        await statuses(
          dav('PUT', 'a', length, content),
          dav('PUT', 'a', { ...length, if: `(${token})` }, content),
          dav('UNLOCK', 'a', { 'lock-token': token }),
        ),
        [423, 204, 204],
      );

      const moved = 'a%252Fb+c%2520%3F%23%20%C3%A9';
      // The proxy that terminates TLS sends plain HTTP, and the client names its own URL.
      const destination = `https://127.0.0.1:${port}${folder}/${moved}`;
      const elsewhere = `https://files.example.org${folder}/${moved}`;
      assert.deepEqual(
        await statuses(
          dav('MOVE', 'a', { destination: elsewhere }),
          dav('MOVE', 'a', { destination, overwrite: 'F' }),
          dav('COPY', 'b', { destination, overwrite: 'F' }),
        ),
        [502, 201, 412],
      );
      const listed = await dav('PROPFIND', '', { depth: '1' });
      assert.equal(listed.status, 207);
      const hrefs = Array.from(listed.body.toString().matchAll(/href>([^<]+)</g), ([, href = '']) =>
        decodeURIComponent(href),
      );
      const expected = ['', moved, 'b'].map((each) => decodeURIComponent(`${folder}/${each}`));
      assert.deepEqual(hrefs, expected);
      const part = await dav('GET', moved, { range: 'bytes=5-9' });
      assert.deepEqual([part.status, part.body], [206, content.subarray(5, 10)]);
      assert.deepEqual(await statuses(dav('DELETE', moved), dav('DELETE', '')), [204, 204]);
    });
  }

  it('arrive in parts with tuspy', async (t) => {
    const [name = ''] = PROXIES.find(([, start]) => start === bufferingNginx) ?? [];
    const port = portOf(name);
    const folder = await temporaryFolder(t);
    const content = randomBytes(2 * MIB + 1);
    const file = join(folder, 'content');
    await writeFile(file, content);
    const program = `
import sys
from tusclient.client import TusClient
_, url, path = sys.argv
TusClient(url).uploader(path, chunk_size=2**20, metadata={'filename': 'tuspy é.bin', 'prefix': 'python'}).upload()
`;
    const endpoint = `http://127.0.0.1:${port}/-/uploads`;
    await promisify(execFile)('/usr/bin/python3', ['-c', program, endpoint, file], { env: { LC_ALL: 'C.UTF-8' } });
    const stored = await fetch(`http://127.0.0.1:${port}/file/python/tuspy%20%C3%A9.bin`);
    assert.ok(Buffer.from(await stored.arrayBuffer()).equals(content));
  });
});

/** Sends a request, and returns its response and the URLs in the informational ones. */
async function sendOn(agent: Agent, options: RequestOptions, body?: Buffer | string) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const informed: string[] = [];
  const sent = request({ host: '127.0.0.1', agent, ...options }, resolve);
  sent.on('information', ({ headers: { location } }) => void (location !== undefined && informed.push(location)));
  sent.on('error', reject);
  sent.end(body);
  const response = await promise;
  return { status: response.statusCode, headers: response.headers, body: await buffer(response), informed };
}
