import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contentHeaders, fileHeaders, isolationHeaders, relativeTo } from '../../src/http/headers.ts';
import { parseFile } from '../../src/model/path.ts';
import { attachmentHeader, presentationOf } from '../../src/model/presentation.ts';
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
  it('describe a file and require revalidation', () => {
    assert.deepEqual(fileHeaders(fileOf('a')), {
      etag: '"abc"',
      'last-modified': 'Fri, 20 Nov 2026 09:30:00 GMT',
      'cache-control': 'private, no-cache',
      'accept-ranges': 'bytes',
    });
  });

  it('omit Last-Modified if the store has no modification time', () => {
    assert.equal('last-modified' in fileHeaders({ ...fileOf('a'), modified: null }), false);
  });
});

describe('contentHeaders', () => {
  it('depend on how the file is displayed, also if it was displayed differently before', () => {
    const file = fileOf('a.txt');
    const inline = { download: false, framedBy: "'self'" };
    for (const display of [inline, { ...inline, download: true }, { ...inline, framedBy: '*' }, inline]) {
      const { type, displayKind } = presentationOf(file, display);
      assert.deepEqual(contentHeaders(file, display), {
        ...fileHeaders(file),
        ...isolationHeaders(displayKind, display.framedBy),
        ...(display.download && { 'content-disposition': attachmentHeader(file.path) }),
        'content-type': type,
      });
    }
  });
});

describe('isolationHeaders', () => {
  const headersOf = (path: string, type: string, download = false) =>
    isolationHeaders(presentationOf({ path: parseFile(path), type }, { download }).displayKind, "'self'");
  const policyOf = (...file: Parameters<typeof headersOf>) =>
    (headersOf(...file)['content-security-policy'] ?? '').split('; ');

  it('allow no resources and no scripts, and send no referrer', () => {
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

  it('sandbox everything except PDF, and give media an origin', () => {
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
  it('leads from the request URL to the target, also behind a proxy with a path prefix', () => {
    const target = '/-/signed/a/b?expires=1&signature=x';
    for (const requested of [
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
        const url = new URL(relativeTo(requested, target), `http://host${prefix}${requested}`);
        assert.equal(url.pathname + url.search, prefix + target, `${prefix}${requested}`);
      }
    }
  });
});
