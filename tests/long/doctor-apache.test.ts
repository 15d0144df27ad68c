// Only it runs the doctor behind Apache, whose buffering takes a timeout to detect.
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { it } from 'node:test';
import { documentedApache, startProxy } from '../../testing/servers/documented-proxies.ts';
import { startInProcess } from '../../testing/service.ts';
import { diagnose } from '../doctor/diagnosis.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['apache2'];

/** The checks of requests through a proxy that passes on everything. */
const PASSING = [
  'url-names',
  'url-upload',
  'url-body-size',
  'url-parts',
  'url-progress',
  'url-methods',
  'url-dav-methods',
  'url-dav-destination',
  'url-dav-headers',
  'url-dav-chunked',
  'url-dav-body-size',
];

// tests/deploy sends uploads and requests of WebDAV clients through the other documented proxies, which pass on everything.
it('holdall doctor reports no problem behind Apache, whose buffering it can not try', async (t) => {
  const settings = { TRUST_PROXY: 'loopback', ACCESS: 'open' };
  const service = await startInProcess(t, { settings });
  const port = await startProxy(t, await documentedApache(t, service.port));
  const {
    of,
    printed,
    with: having,
  } = await diagnose({ ...settings, DISK_ROOT: service.root }, '--url', `http://127.0.0.1:${port}`);
  assert.deepEqual([having('failed'), having('warning')], [[], []], printed);
  for (const check of PASSING) {
    assert.equal(of(check).status, 'ok', check);
  }
  // Apache reads no response before the end of an upload, although it forwards the request as it arrives.
  assert.equal(of('url-upload-buffering').status, 'not tried');
  const left = (await readdir(service.root)).filter((name) => name.startsWith('holdall-doctor-'));
  assert.deepEqual(left, []);
});
