import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { createDrafts } from '../../../web/src/model/editing/drafts.ts';
import { EditedFile, type SaveResult } from '../../../web/src/model/editing/edited-file.ts';
import { mergeTexts } from '../../../web/src/model/editing/merge.ts';
import { decodeUtf8, encodeText } from '../../../web/src/model/editing/text-file.ts';
import type { SendOptions, Service } from '../../../web/src/platform/service/service.ts';
import { ServiceError } from '../../../web/src/platform/service/service-error.ts';

const bytesOf = (text: string) => new TextEncoder().encode(text);

describe('The text of a file', () => {
  it('is stored with the same bytes, whatever its line endings and byte order mark', () => {
    const piece = fc.constantFrom('a', 'é', '😀', '\t', '\r\n', '\n', '\r', '\uFEFF', '\u2028');
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const bytes = bytesOf(pieces.join(''));
        const decoded = decodeUtf8(bytes);
        assert.ok(decoded);
        assert.deepEqual(encodeText(decoded.text, decoded.format), bytes);
      }),
    );
  });

  for (const [name, content, lineEnding] of [
    ['LF', 'a\nb\n', '\n'],
    ['CRLF', 'a\r\nb\r\n', '\r\n'],
    ['CR', 'a\rb\r', '\r'],
  ] as const) {
    it(`has lines that end with LF in the editor, and keeps ${name} for new lines`, () => {
      const decoded = decodeUtf8(bytesOf(content));
      assert.deepEqual(decoded, { text: 'a\nb\n', format: { lineEnding, hasMark: false } });
      assert.deepEqual(encodeText('a\nnew\nb\n', decoded.format), bytesOf(['a', 'new', 'b', ''].join(lineEnding)));
    });
  }

  it('keeps mixed line endings, and a byte order mark', () => {
    const decoded = decodeUtf8(bytesOf('\uFEFFa\r\nb\nc'));
    assert.deepEqual(decoded, { text: 'a\r\nb\nc', format: { lineEnding: 'mixed', hasMark: true } });
  });

  it('is undefined for bytes that are not UTF-8, and for null characters', () => {
    for (const bytes of [
      [0xff, 0xfe, 0x41, 0x00],
      [0x47, 0xfc],
      [0x61, 0x00],
      [0xed, 0xa0, 0x80],
      [0xc0, 0xaf],
    ]) {
      assert.equal(decodeUtf8(new Uint8Array(bytes)), undefined);
    }
  });
});

describe('A three-way merge', () => {
  const base = 'one\ntwo\nthree\nfour\nfive\n';

  it('contains the changes of both versions', () => {
    const mine = base.replace('one', 'ONE');
    const theirs = `${base.replace('four\n', '')}six\n`;
    const merged = mergeTexts({ base, mine, theirs });
    assert.deepEqual([merged.text, merged.conflicts], ['ONE\ntwo\nthree\nfive\nsix\n', []]);
    assert.deepEqual(merged.incoming, [{ from: 4, to: 5 }]);
  });

  it('contains both versions of lines that both changed, first those of the user', () => {
    const merged = mergeTexts({
      base,
      mine: base.replace('three', 'mine'),
      theirs: base.replace('three', 'theirs\nmore'),
    });
    assert.equal(merged.text, 'one\ntwo\nmine\ntheirs\nmore\nfour\nfive\n');
    assert.deepEqual(merged.conflicts, [{ from: 2, middle: 3, to: 5 }]);
    assert.deepEqual(merged.incoming, []);
  });

  it('has no conflict where both made the same change', () => {
    const same = base.replace('two', '2');
    assert.deepEqual(mergeTexts({ base, mine: same, theirs: same }), { text: same, conflicts: [], incoming: [] });
  });

  it('has a conflict if one version deleted a line that the other one changed', () => {
    const merged = mergeTexts({ base: 'a\nb\nc', mine: 'a\nc', theirs: 'a\nB\nc' });
    assert.deepEqual([merged.text, merged.conflicts], ['a\nB\nc', [{ from: 1, middle: 1, to: 2 }]]);
  });

  it('is one of the versions if only that one has changes', () => {
    const line = fc.constantFrom('a', 'b', '', '}', '  x');
    const text = fc.array(line, { maxLength: 12 }).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(text, text, (from, to) => {
        assert.equal(mergeTexts({ base: from, mine: to, theirs: from }).text, to);
        assert.equal(mergeTexts({ base: from, mine: from, theirs: to }).text, to);
        assert.deepEqual(mergeTexts({ base: from, mine: from, theirs: to }).conflicts, []);
      }),
    );
  });

  it('loses no line that one version added', () => {
    const line = fc.constantFrom<string>('a', 'b', 'c', '');
    const text = fc.array(line, { maxLength: 8 });
    fc.assert(
      fc.property(text, fc.nat(8), fc.nat(8), (lines, left, right) => {
        const mine = lines.toSpliced(left, 0, 'MINE').join('\n');
        const theirs = lines.toSpliced(right, 0, 'THEIRS').join('\n');
        const merged = mergeTexts({ base: lines.join('\n'), mine, theirs }).text.split('\n');
        assert.ok(merged.includes('MINE') && merged.includes('THEIRS'), merged.join('|'));
      }),
    );
  });
});

/** A service with one folder of files, as the editor uses it. */
function createFakeService(files: Record<string, string>) {
  const stored = new Map(Object.entries(files).map(([path, text]) => [path, { bytes: bytesOf(text), etag: '"1"' }]));
  let version = 1;
  /** Called before each request to write; an error fails the request after it was performed. */
  let onWrite: (path: string) => ServiceError | undefined = () => undefined;
  const put = (path: string, text: string) => {
    stored.set(path, { bytes: bytesOf(text), etag: `"${++version}"` });
  };
  const respond = async (endpoint: string, init: RequestInit): Promise<Response> => {
    const path = decodeURIComponent(endpoint.slice('file/'.length));
    const found = stored.get(path);
    if (init.method !== 'PUT') {
      return found ? new Response(found.bytes) : Response.json({ code: 'not-found' }, { status: 404 });
    }
    const headers = new Headers(init.headers);
    const failure = onWrite(path);
    const current = stored.get(path);
    if (headers.has('if-none-match') && current) return Response.json({ code: 'name-taken' }, { status: 412 });
    const match = headers.get('if-match');
    if (match !== null && match !== current?.etag) return Response.json({ code: 'file-changed' }, { status: 412 });
    assert.ok(init.body instanceof Blob);
    put(path, new TextDecoder('utf-8', { ignoreBOM: true }).decode(await init.body.arrayBuffer()));
    if (failure) throw failure;
    return Response.json({ path }, { headers: { etag: stored.get(path)?.etag ?? '' } });
  };
  const service = {
    async send(endpoint: string, { query, request, ...options }: SendOptions = {}) {
      if (endpoint === '') {
        const parameters = new URLSearchParams(query);
        const path = `${parameters.get('prefix')}${parameters.get('name')}`;
        const found = stored.get(path);
        const entry = found && { type: 'file', path, size: found.bytes.length, etag: found.etag };
        return { entries: entry ? [entry] : [] };
      }
      const { fetch } = globalThis;
      globalThis.fetch = (_url, init = {}) => respond(endpoint, init);
      try {
        return await request?.(endpoint, options);
      } finally {
        globalThis.fetch = fetch;
      }
    },
  } as unknown as Pick<Service, 'send'>;
  return {
    service,
    put,
    remove: (path: string) => stored.delete(path),
    text: (path: string) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(stored.get(path)?.bytes),
    names: () => [...stored.keys()],
    onWrite(listener: typeof onWrite) {
      onWrite = listener;
    },
  };
}

function open(content = 'base\n') {
  const fake = createFakeService({ 'f/a.txt': content });
  const drafts = createDrafts(undefined, '');
  const decoded = decodeUtf8(bytesOf(content));
  assert.ok(decoded);
  const options = {
    service: fake.service,
    drafts,
    path: 'f/a.txt',
    etag: '"1"',
    contentType: 'text/plain; charset=utf-8',
  };
  return { ...fake, file: new EditedFile({ ...options, ...decoded }) };
}

const kindOf = ({ kind }: SaveResult) => kind;

describe('An edited file', () => {
  it('is saved again and again, in its format', async () => {
    const { file, text } = open('\uFEFFone\r\n');
    assert.equal(kindOf(await file.save('one\ntwo\n')), 'saved');
    assert.equal(kindOf(await file.save('one\ntwo\nthree\n')), 'saved');
    assert.equal(text('f/a.txt'), '\uFEFFone\r\ntwo\r\nthree\r\n');
  });

  it('is not saved over the change of another client, unless the user overwrites that version', async () => {
    const { file, put, text } = open();
    put('f/a.txt', 'theirs\n');
    const result = await file.save('mine\n');
    assert.ok(result.kind === 'conflict' && result.theirs.kind === 'text');
    assert.deepEqual([result.theirs.text, text('f/a.txt')], ['theirs\n', 'theirs\n']);
    put('f/a.txt', 'newer\n');
    assert.equal(kindOf(await file.overwrite('mine\n', result.theirs)), 'conflict');
    const newer = await file.readOther();
    assert.equal(kindOf(await file.overwrite('mine\n', newer)), 'saved');
    assert.equal(text('f/a.txt'), 'mine\n');
  });

  it('is saved if another client stored the same text, or the text that the user began with', async () => {
    for (const theirs of ['mine\n', 'base\n']) {
      const { file, put, text } = open();
      put('f/a.txt', theirs);
      assert.equal(kindOf(await file.save('mine\n')), 'saved');
      assert.equal(text('f/a.txt'), 'mine\n');
    }
  });

  it('is saved by a second attempt after the response to the first one got lost', async () => {
    const { file, onWrite, text } = open();
    onWrite(() => new ServiceError(0, 'lost'));
    assert.equal(kindOf(await file.save('mine\n')), 'failed');
    onWrite(() => undefined);
    assert.equal(kindOf(await file.save('mine\n')), 'saved');
    assert.equal(text('f/a.txt'), 'mine\n');
  });

  it('is created again only if the user wants that', async () => {
    const { file, remove, names } = open();
    remove('f/a.txt');
    const result = await file.save('mine\n');
    assert.ok(result.kind === 'conflict' && result.theirs.kind === 'missing');
    assert.deepEqual(names(), []);
    assert.equal(kindOf(await file.overwrite('mine\n', result.theirs)), 'saved');
    assert.deepEqual(names(), ['f/a.txt']);
  });

  it('continues as a copy with a free name', async () => {
    const { file, put, text } = open();
    put('f/a.txt', 'theirs\n');
    put('f/a (2).txt', 'taken\n');
    assert.equal(kindOf(await file.saveCopy('mine\n')), 'saved');
    assert.equal(kindOf(await file.save('mine again\n')), 'saved');
    assert.deepEqual(
      [text('f/a.txt'), text('f/a (2).txt'), text('f/a (3).txt')],
      ['theirs\n', 'taken\n', 'mine again\n'],
    );
  });

  it('can’t be merged with a version that is not text', async () => {
    const { file, put } = open();
    put('f/a.txt', 'bin\0ary');
    const result = await file.save('mine\n');
    assert.ok(result.kind === 'conflict' && result.theirs.kind === 'opaque');
  });
});

describe('Drafts', () => {
  it('belong to a user and a path, and ignore what other scripts stored', () => {
    const values = new Map<string, string>();
    const storage = {
      getItem: (key: string) => values.get(key) ?? null,
      setItem: (key: string, value: string) => void values.set(key, value),
      removeItem: (key: string) => void values.delete(key),
    } as unknown as Storage;
    const draft = { etag: '"1"', base: 'a', text: 'b' };
    createDrafts(storage, 'ann').put('x', draft);
    assert.deepEqual(createDrafts(storage, 'ann').read('x'), draft);
    assert.equal(createDrafts(storage, 'bob').read('x'), undefined);
    assert.equal(createDrafts(storage, 'ann').read('y'), undefined);
    for (const broken of ['{', '1', 'null', '{"etag":1}']) {
      for (const key of values.keys()) values.set(key, broken);
      assert.equal(createDrafts(storage, 'ann').read('x'), undefined);
    }
  });
});
