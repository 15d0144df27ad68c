import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { assertSuccess, postJson } from '../http/client.ts';

describe('A request ID', () => {
  it('appears in the log lines of the store calls of the request', async (t) => {
    const { port, log } = await startInProcess(t, {
      settings: { LOG_LEVEL: 'debug', ACCESS: 'open', TRUST_PROXY: 'loopback' },
    });
    const headers = { 'x-request-id': 'given-by-the-proxy' };
    assertSuccess(await postJson(port, '/create_folder', { path: 'a' }, headers), {
      message: 'Folder created successfully',
    });
    await until('the request is logged', () => log.some(({ msg }) => msg === 'request'));
    const calls = log.filter(({ msg, requestId }) => msg === 'store' && requestId === 'given-by-the-proxy');
    assert.ok(calls.some(({ member }) => member === 'createFolder'));
  });
});
