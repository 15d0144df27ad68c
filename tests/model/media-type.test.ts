import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mediaTypeOf, mediaTypeOfUpload, servedType } from '../../src/model/presentation.ts';

describe('mediaTypeOf', () => {
  it('returns the type of the file extension, ignoring case', () => {
    for (const [name, type] of [
      ['a.txt', 'text/plain'],
      ['a.TXT', 'text/plain'],
      ['f.txt/a.png', 'image/png'],
      ['a.tar.gz', 'application/gzip'],
      ['a.html', 'text/html'],
      ['a.svg', 'image/svg+xml'],
      ['a.svgz', 'image/svg+xml'],
      ['a.jfif', 'image/jpeg'],
      ['a.webp', 'image/webp'],
      ['a.avif', 'image/avif'],
      ['a.pdf', 'application/pdf'],
      ['a.json', 'application/json'],
      ['a.js', 'text/javascript'],
    ] as const) {
      assert.equal(mediaTypeOf(name), type, name);
    }
  });

  it('returns application/octet-stream for an unknown or missing extension', () => {
    for (const name of [
      '',
      'a',
      'a.',
      '.',
      'a.nobody-knows',
      'f.txt/a',
      'png',
      'f/html',
      'a.txt ',
      'constructor',
      '__proto__',
      'a.constructor',
    ]) {
      assert.equal(mediaTypeOf(name), 'application/octet-stream', name);
    }
  });
});

describe('mediaTypeOfUpload', () => {
  it('uses the extension if the declared type has control or non-ASCII characters', () => {
    for (const unit of ['\0', '\x01', '\x1f', '\x7f', '\x80', 'é', '\u2028']) {
      assert.equal(mediaTypeOfUpload(`text/plain; name="a${unit}b"`, 'a.png'), 'image/png', JSON.stringify(unit));
    }
  });

  it('returns the declared type with its parameters', () => {
    for (const type of [
      'text/plain',
      'x/y',
      'text/html; charset=utf-8',
      'a/b;c=d; e="f g"',
      'image/x-own',
      'TEXT/Plain',
    ]) {
      assert.equal(mediaTypeOfUpload(type, 'a.png'), type);
    }
  });

  it('uses the extension if the declared type is absent or application/octet-stream', () => {
    for (const type of [undefined, 'application/octet-stream']) {
      assert.equal(mediaTypeOfUpload(type, 'a.png'), 'image/png');
      assert.equal(mediaTypeOfUpload(type, 'a'), 'application/octet-stream');
    }
  });

  it('uses the extension if the declared type is malformed, too long or unsafe in a header', () => {
    for (const type of [
      '',
      'text',
      'text/',
      '/plain',
      'text/plain/x',
      'text plain',
      'text/plain\r\nSet-Cookie: x=y',
      'text/plain; a="b\r\n"',
      'text/plain;',
      'text/plain; charset',
      'text/plain, text/html',
      'text/pläin',
      `text/${'x'.repeat(300)}`,
    ]) {
      assert.equal(mediaTypeOfUpload(type, 'a.png'), 'image/png', JSON.stringify(type));
    }
  });

  it('uses the extension for a malformed type with 20,000 parameters', () => {
    const type = `text/plain${';a=b'.repeat(20_000)}!`;
    assert.equal(mediaTypeOfUpload(type, 'a.png'), 'image/png');
  });
});

describe('servedType', () => {
  it('adds charset=utf-8 only to text types without parameters', () => {
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
      assert.equal(servedType(type), header);
    }
  });
});
