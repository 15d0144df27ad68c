import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contentHeaders, fileHeaders, isolationHeaders, relativeTo } from '../../src/http/headers.ts';
import { parseFile } from '../../src/model/path.ts';
import { presentationOf } from '../../src/model/presentation.ts';
import type { FileEntry } from '../../src/model/store.ts';

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

describe('contentHeaders', () => {
  it('are those of how a file is to be shown, however it was shown before', () => {
    const file = fileOf('a.txt');
    const shown = { download: false, framedBy: "'self'" };
    for (const showing of [shown, { ...shown, download: true }, { ...shown, framedBy: '*' }, shown]) {
      const presentation = presentationOf(file, showing);
      assert.deepEqual(contentHeaders(file, showing), {
        ...fileHeaders(file),
        ...isolationHeaders(presentation, showing.framedBy),
        'content-type': presentation.type,
      });
    }
  });
});

describe('isolationHeaders', () => {
  const headersOf = (path: string, type: string, download = false) =>
    isolationHeaders(presentationOf({ path: parseFile(path), type }, { download }), "'self'");
  const policyOf = (...given: Parameters<typeof headersOf>) =>
    (headersOf(...given)['content-security-policy'] ?? '').split('; ');

  it('let nothing be loaded and no script run, and tell nobody where a link was', () => {
    for (const [path, type] of [
      ['a.html', 'text/html'],
      ['a.svg', 'image/svg+xml'],
      ['a.txt', 'text/plain'],
      ['a.mp4', 'video/mp4'],
      ['a.pdf', 'application/pdf'],
      ['a', ''],
    ] as const) {
      const policy = policyOf(path, type);
      assert.ok(policy.includes("default-src 'none'"), path);
      assert.ok(policy.includes("form-action 'none'"), path);
      assert.ok(policy.includes("frame-ancestors 'self'"), path);
      assert.ok(
        !policy.some((directive) => /^(script|connect|frame)-src|allow-(scripts|forms|popups)/.test(directive)),
      );
      assert.equal(headersOf(path, type)['referrer-policy'], 'no-referrer');
    }
  });

  it('put all in a sandbox but what needs the viewer for PDF, and a video has an origin there, to be asked for', () => {
    for (const [path, type, sandbox] of [
      ['a.html', 'text/html', 'sandbox'],
      ['a.svg', 'image/svg+xml', 'sandbox'],
      ['a.txt', 'text/plain', 'sandbox'],
      ['a.png', 'image/png', 'sandbox'],
      ['a.pdf', 'text/html', 'sandbox'],
      ['a.html', 'application/pdf', 'sandbox'],
      ['a.html', 'video/mp4', 'sandbox'],
      ['a.mp4', 'video/mp4', 'sandbox allow-same-origin'],
    ] as const) {
      assert.equal(policyOf(path, type)[0], sandbox, `${path}, ${type}`);
    }
    assert.doesNotMatch(policyOf('a.pdf', 'application/pdf').join(), /sandbox/);
    assert.equal(policyOf('a.pdf', 'application/pdf', true)[0], 'sandbox');
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
