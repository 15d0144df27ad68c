import assert from 'node:assert/strict';
import { validateHeaderValue } from 'node:http';
import { describe, it } from 'node:test';
import { parseFile } from '../../src/domain/path.ts';
import type { FileEntry } from '../../src/domain/store.ts';
import {
  acceptsExplicitly,
  attachment,
  contentType,
  fileHeaders,
  isolationHeaders,
  relativeTo,
} from '../../src/http/headers.ts';
import { NAMES } from '../contract/names.ts';

const fileOf = (path: string): FileEntry => ({
  kind: 'file',
  path: parseFile(path),
  size: 5,
  etag: 'abc',
  modified: new Date('2026-11-20T09:30:00.750Z'),
  type: 'text/plain',
});

describe('fileHeaders', () => {
  it('describe a file, and say that it has to be asked after each time', () => {
    assert.deepEqual(fileHeaders(fileOf('a')), {
      etag: '"abc"',
      'last-modified': 'Fri, 20 Nov 2026 09:30:00 GMT',
      'cache-control': 'private, no-cache',
      'accept-ranges': 'bytes',
    });
  });

  it('have no Last-Modified where nobody knows it', () => {
    assert.equal('last-modified' in fileHeaders({ ...fileOf('a'), modified: null }), false);
  });
});

describe('contentType', () => {
  it('adds the encoding to texts that say none, and to nothing else', () => {
    for (const [type, header] of [
      ['text/plain', 'text/plain; charset=utf-8'],
      ['text/html', 'text/html; charset=utf-8'],
      ['text/plain; charset=latin1', 'text/plain; charset=latin1'],
      ['text/plain;format=flowed', 'text/plain;format=flowed'],
      ['application/json', 'application/json'],
      ['image/svg+xml', 'image/svg+xml'],
      ['application/octet-stream', 'application/octet-stream'],
      ['x-text/plain', 'x-text/plain'],
    ] as const) {
      assert.equal(contentType(type), header);
    }
  });
});

describe('attachment (RFC 6266)', () => {
  it('has the name whole in UTF-8, and as far as ASCII goes for old clients', () => {
    for (const [path, ascii, utf8] of [
      ['a.txt', 'a.txt', 'a.txt'],
      ['f/g/a b.txt', 'a b.txt', 'a%20b.txt'],
      ['naïve.txt', 'na_ve.txt', 'na%C3%AFve.txt'],
      ['日本.txt', '__.txt', '%E6%97%A5%E6%9C%AC.txt'],
      ['🎉', '_', '%F0%9F%8E%89'],
      [`"quotes'.txt`, `_quotes'.txt`, '%22quotes%27.txt'],
      ['back\\slash', 'back_slash', 'back%5Cslash'],
      ['100%25', '100_25', '100%2525'],
      ['a;b=c', 'a;b=c', 'a%3Bb%3Dc'],
      ['(*)', '(*)', '%28%2A%29'],
      ["!#$&+-.^_`|~'", "!#$&+-.^_`|~'", '!%23%24%26%2B-.%5E_%60%7C~%27'],
    ] as const) {
      assert.equal(attachment(fileOf(path)), `attachment; filename="${ascii}"; filename*=UTF-8''${utf8}`);
    }
  });

  it('gives every name back, and is a header that can be sent', () => {
    for (const name of NAMES) {
      const header = attachment(fileOf(`f/${name}`));
      assert.match(
        header,
        /^attachment; filename="[\x20-\x21\x23-\x24\x26-\x5b\x5d-\x7e]+"; filename\*=UTF-8''[\w!#$&+.^`|~%-]+$/,
      );
      assert.equal(decodeURIComponent(header.split("UTF-8''")[1] ?? ''), name);
      validateHeaderValue('content-disposition', header);
    }
  });
});

describe('isolationHeaders', () => {
  it('keep a file from acting in the name of who looks at it, but for the viewer of PDF', () => {
    const sandboxed = { 'x-content-type-options': 'nosniff', 'content-security-policy': 'sandbox' };
    for (const type of [
      'text/html',
      'image/svg+xml',
      'text/plain',
      'application/octet-stream',
      'application/pdfx',
      '',
    ]) {
      assert.deepEqual(isolationHeaders(type), sandboxed, type);
    }
    assert.deepEqual(isolationHeaders('application/pdf'), { 'x-content-type-options': 'nosniff' });
  });
});

describe('relativeTo', () => {
  it('leads from the URL that was asked for to the target, also behind a proxy that serves all under a path of its own', () => {
    const target = '/-/signed/a/b?expires=1&signature=x';
    for (const asked of [
      '/file/a',
      '/file/a/b/c',
      '/file/a%2Fb',
      '/file//a',
      '/file/a?download=1',
      '/file/a?x=/y/z',
      '/a',
      '/',
    ]) {
      for (const prefix of ['', '/files', '/some/where']) {
        const url = new URL(relativeTo(asked, target), `http://host${prefix}${asked}`);
        assert.equal(url.pathname + url.search, prefix + target, `${prefix}${asked}`);
      }
    }
  });
});

describe('acceptsExplicitly', () => {
  it('is true for a client that names the type itself, and does not rule it out', () => {
    const type = 'application/x-ndjson';
    for (const [accept, accepts] of [
      [undefined, false],
      ['', false],
      ['*/*', false],
      ['application/*', false],
      ['application/json', false],
      ['application/x-ndjson', true],
      ['Application/X-NDJSON', true],
      [' application/x-ndjson ', true],
      ['text/html, application/x-ndjson;q=0.1, */*', true],
      ['application/x-ndjson; charset=utf-8', true],
      ['application/x-ndjson;q=0', false],
      ['application/x-ndjson; Q=0.000', false],
      ['application/x-ndjson;q=0.001', true],
      ['application/x-ndjsonx', false],
      ['x-application/x-ndjson', false],
    ] as const) {
      assert.equal(acceptsExplicitly(accept, type), accepts, String(accept));
    }
  });
});
