import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parseBufferedForm } from '../../src/http/form-fields.ts';
import { readForm } from '../../src/http/multipart.ts';
import { tries } from '../seeds.ts';

const BOUNDARY = 'b-1';

/** The parts of forms, and possible mistakes in them. */
const CHUNKS = [
  `--${BOUNDARY}`,
  `\r\n--${BOUNDARY}\r\n`,
  `\r\n--${BOUNDARY}--\r\n`,
  '--',
  '\r\n',
  '\r\n\r\n',
  '\n',
  'Content-Disposition: form-data; name="file"; filename="ä.txt"',
  'content-disposition:form-data; name=prefix',
  'Content-Disposition: form-data; name="a\\"b"',
  'Content-Disposition: attachment',
  'Content-Type:  text/plain',
  `Content-Disposition: form-data; name=file; filename="=?utf-8?B?w6Q=?="; filename*=utf-8''%C3%A4`,
  "Content-Disposition: form-data; name=prefix; filename*=utf-8''a",
  "Content-Disposition: form-data; name*=utf-8''prefix",
  'Content-Transfer-Encoding: base64',
  'Content-Transfer-Encoding: 8bit',
  'X-Other: 1',
  ' folded',
  'no header',
  'text',
];

const header = fc.array(fc.constantFrom(...CHUNKS.slice(7, 19)), { minLength: 1, maxLength: 5 });
const part = fc
  .tuple(header, fc.constantFrom('', 'text', '\r\n', `--${BOUNDARY}`, '\r\n--b'))
  .map(([lines, body]) => `--${BOUNDARY}\r\n${lines.join('\r\n')}\r\n\r\n${body}\r\n`);
const wellFormed = fc
  .array(part, { maxLength: 10 })
  .chain((parts) => fc.constantFrom('', '\r\n', 'more').map((rest) => `${parts.join('')}--${BOUNDARY}--${rest}`));
const anything = fc.array(fc.constantFrom(...CHUNKS), { maxLength: 12 }).map((chunks) => chunks.join(''));

test('a buffered form is parsed like the same form read as a stream', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(wellFormed, anything), async (text) => {
      const bytes = Buffer.from(text);
      assert.deepEqual(await read(bytes, { isWhole: true }), await read(bytes, { isWhole: false }));
    }),
    tries(t, 200),
  );
});

test('a form as browsers and curl write it is parsed from the buffer, and an unusual form is not', () => {
  const disposition = 'Content-Disposition: form-data; name="file"; filename="a"';
  const formOf = (headers: string) => Buffer.from(`--${BOUNDARY}\r\n${headers}\r\n\r\ntext\r\n--${BOUNDARY}--\r\n`);
  assert.equal(parseBufferedForm(formOf(`${disposition}\r\nContent-Type: text/plain`), BOUNDARY)?.length, 1);
  assert.equal(parseBufferedForm(formOf(`${disposition}\r\n folded`), BOUNDARY), undefined);
  assert.equal(parseBufferedForm(Buffer.concat([Buffer.from('before\r\n'), formOf(disposition)]), BOUNDARY), undefined);
});

/** Parses a form. Returns its parts, or the mistake in it. */
async function read(bytes: Buffer, { isWhole }: { isWhole: boolean }): Promise<unknown> {
  const request = new IncomingMessage(new Socket());
  request.headers['content-type'] = `multipart/form-data; boundary=${BOUNDARY}`;
  request.push(bytes);
  request.push(null);
  request.complete = isWhole;
  const form = await readForm(request);
  request.complete = true;
  const parts = [];
  try {
    for (let found = await form.next(); found; found = await form.next()) {
      const { name, filename, unreadable, type, body } = found;
      parts.push({ name, filename, unreadable, type, text: (await buffer(body)).toString() });
    }
    return parts;
  } catch (error) {
    return form.problem() ?? error;
  }
}
