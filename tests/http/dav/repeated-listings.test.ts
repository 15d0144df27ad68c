import assert from 'node:assert/strict';
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { startInProcess } from '../../../testing/service.ts';
import { send } from '../client.ts';

const ALL = '<propfind xmlns="DAV:"><allprop/></propfind>';
const SIZES = '<propfind xmlns="DAV:"><prop><getcontentlength/><color xmlns="urn:test"/></prop></propfind>';
const COLOR =
  '<propertyupdate xmlns="DAV:"><set><prop><color xmlns="urn:test">red</color></prop></set></propertyupdate>';
const INFO = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';

it('shows the changes since the last listing of a folder by the same client', async (t) => {
  const { port, root } = await startInProcess(t);
  await mkdir(join(root, 'f'));
  for (const name of ['a', 'b &']) await writeFile(join(root, 'f', name), 'content');
  const LONG_AGO = new Date('2020-01-01T00:00:00Z');
  await utimes(join(root, 'f'), LONG_AGO, LONG_AGO);
  const list = async (body: string, headers = {}) => {
    const call = { method: 'PROPFIND', headers: { depth: '1', ...headers }, body };
    const { status, body: bytes } = await send(port, '/-/dav/f/', call);
    assert.equal(status, 207);
    return bytes.toString();
  };
  const sizes = (text: string) => Array.from(text.matchAll(/getcontentlength>(\d+)</g), ([, size]) => Number(size));

  const first = await list(SIZES);
  assert.deepEqual(sizes(first), [7, 7]);
  assert.equal(await list(SIZES), first);
  assert.match(await list(ALL), /<D:displayname>b &amp;<\/D:displayname>/);
  assert.match(first, /404 Not Found/);
  assert.doesNotMatch(await list(SIZES, { prefer: 'return=minimal' }), /404 Not Found/);

  await writeFile(join(root, 'f/a'), 'longer content');
  assert.deepEqual(sizes(await list(SIZES)), [14, 7]);

  assert.equal((await send(port, '/-/dav/f/a', { method: 'PROPPATCH', body: COLOR })).status, 207);
  assert.match(await list(SIZES), />red</);
  assert.equal((await send(port, '/-/dav/f/a', { method: 'LOCK', body: INFO })).status, 200);
  assert.match(await list(ALL), /<D:activelock>/);

  await rm(join(root, 'f/a'));
  assert.deepEqual(sizes(await list(SIZES)), [7]);
});
