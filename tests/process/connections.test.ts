import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { it } from 'node:test';
import { send } from '../http/client.ts';
import { atEnd, startHoldall } from './holdall.ts';
import { untilAllServe } from './serving.ts';
import { until } from './until.ts';

it('two workers that have all the connections they may close further ones, and serve again when some end', async (t) => {
  const holdall = await startHoldall(t, { settings: { WORKERS: '2', MAX_CONNECTIONS: '2' } });
  await untilAllServe(holdall);
  const held = new Set<Socket>();
  let closed = 0;
  for (let count = 0; count < 12; count++) {
    const socket = connect(holdall.port, '127.0.0.1');
    atEnd(t, () => socket.destroy());
    held.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => {
      held.delete(socket);
      closed++;
    });
    socket.resume();
  }
  await until('those beyond are closed', () => closed >= 8);
  assert.ok(held.size > 0 && held.size <= 4, `${held.size} are held.`);
  assert.ok(holdall.log.some(({ msg, connections }) => String(msg).includes('MAX_CONNECTIONS') && connections === 2));
  for (const socket of held) socket.destroy();
  await until('requests are served', () =>
    send(holdall.port, '/-/health/live').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
});
