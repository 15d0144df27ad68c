import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { it } from 'node:test';
import { atEnd, isError } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { memory } from '../contract/backend.ts';
import { send } from '../http/client.ts';
import { startService } from '../http/service.ts';

// Two workers at the limit: environment-file.test.ts.
it('a client can open a quarter of the connections, rounded up; with TRUST_PROXY a proxy can open all', {
  skip: process.platform === 'linux' ? false : 'other addresses of this machine than 127.0.0.1 are of Linux',
}, async (t) => {
  const { port } = await startInProcess(t, {
    settings: { ACCESS: 'open', MAX_CONNECTIONS: '5', TRUST_PROXY: '127.0.0.2' },
  });
  const served = async (localAddress: string) => {
    const sockets = Array.from({ length: 3 }, () => connect({ port, host: '127.0.0.1', localAddress }));
    let closed = 0;
    for (const socket of sockets) {
      atEnd(t, () => socket.destroy());
      socket.on('error', () => {}).once('close', () => closed++);
      socket.resume();
    }
    // The new request is processed after them.
    const isServed = await send(port, '/-/health/live', { agent: new Agent({ localAddress }) }).then(
      ({ status }) => status === 200,
      () => false,
    );
    return { isServed, closed: () => closed, leave: () => sockets.forEach((socket) => socket.destroy()) };
  };
  const client = await served('127.0.0.1');
  await until('the connections above the limit are closed', () => client.closed() === 1);
  assert.equal(client.isServed, false);
  client.leave();
  const proxy = await served('127.0.0.2');
  assert.equal(proxy.isServed, true);
  assert.equal(proxy.closed(), 0);
});

it('clients that disconnect before they are served cause no service error', async (t) => {
  const { port, log, stop } = await startService(memory);
  atEnd(t, stop);
  const head = 'POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n';
  const request = `${head}Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n`;
  for (let client = 0; client < 100; client++) {
    const socket = connect({ port, host: '127.0.0.1' });
    await once(socket, 'connect');
    socket.write(request);
    socket.resetAndDestroy();
  }
  const { status } = await fetch(`http://127.0.0.1:${port}/`, { headers: { accept: 'application/json' } });
  assert.equal(status, 200);
  assert.deepEqual(log.filter(isError), []);
});
