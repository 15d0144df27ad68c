import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFile } from '../../src/model/path.ts';
import { presentationOf } from '../../src/model/presentation.ts';

const present = (name: string, type: string, download = false) =>
  presentationOf({ path: parseFile(`folder/${name}`), type }, { download });

describe('presentationOf', () => {
  it('shows images, audio, video, plain text and PDF inline', () => {
    for (const [name, type, displayKind] of [
      ['a.jpg', 'image/jpeg', 'image'],
      ['a.jfif', 'image/pjpeg', 'image'],
      ['a.png', 'image/png', 'image'],
      ['a.gif', 'image/gif', 'image'],
      ['a.webp', 'image/webp', 'image'],
      ['a.avif', 'image/avif', 'image'],
      ['a.bmp', 'image/bmp', 'image'],
      ['a.ico', 'image/vnd.microsoft.icon', 'image'],
      ['a.mp3', 'audio/mpeg', 'media'],
      ['a.m4a', 'audio/mp4', 'media'],
      ['a.flac', 'audio/x-flac', 'media'],
      ['a.wav', 'audio/wav', 'media'],
      ['a.mp4', 'video/mp4', 'media'],
      ['a.webm', 'video/webm', 'media'],
      ['a.mov', 'video/quicktime', 'media'],
      ['a.pdf', 'application/pdf', 'pdf'],
    ] as const) {
      assert.deepEqual(present(name, type), { type, displayKind }, name);
    }
    for (const name of ['a.txt', 'A.TXT', 'a.log', 'a.ini', 'a.html.txt']) {
      assert.equal(present(name, 'text/plain').displayKind, 'text', name);
    }
  });

  it('returns an attachment with its type for everything else', () => {
    for (const [name, type] of [
      ['a.html', 'text/html'],
      ['a.xhtml', 'application/xhtml+xml'],
      ['a.svg', 'image/svg+xml'],
      ['a.svgz', 'image/svg+xml'],
      ['a.xml', 'application/xml'],
      ['a.xml', 'text/xml'],
      ['a.xsl', 'application/xslt+xml'],
      ['a.mml', 'application/mathml+xml'],
      ['a.rss', 'application/rss+xml'],
      ['a.epub', 'application/epub+zip'],
      ['a.swf', 'application/x-shockwave-flash'],
      ['a.mhtml', 'multipart/related'],
      ['a.js', 'text/javascript'],
      ['a.css', 'text/css'],
      ['a.wasm', 'application/wasm'],
      ['a.json', 'application/json'],
      ['a.md', 'text/markdown'],
      ['a.csv', 'text/csv'],
      ['a.ics', 'text/calendar'],
      ['a.vtt', 'text/vtt'],
      ['a.zip', 'application/zip'],
      ['a.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
      ['a', 'application/octet-stream'],
      ['a', ''],
    ] as const) {
      const presentation = present(name, type);
      assert.equal(presentation.displayKind, undefined, `${name}, ${type}`);
      assert.ok(presentation.type.startsWith(type), presentation.type);
    }
  });

  it('returns an attachment unless both the name and the stored type are safe', () => {
    for (const [name, type] of [
      ['a.html', 'image/png'],
      ['a.html', 'text/plain'],
      ['a.svg', 'image/png'],
      ['a.txt', 'text/html'],
      ['a.png', 'text/html'],
      ['a.pdf', 'text/html'],
      ['a.txt.html', 'text/plain'],
      ['a', 'image/png'],
      ['a.', 'text/plain'],
      ['a.txt ', 'text/plain'],
      ['a.unknown', 'text/plain'],
      ['a.constructor', 'text/plain'],
    ] as const) {
      assert.equal(present(name, type).displayKind, undefined, `${name}, ${type}`);
    }
  });

  it('returns no type for an SVG whose name is not that of an SVG', () => {
    for (const name of ['a.png', 'a', 'a.svg.txt']) {
      const expected = { type: 'application/octet-stream', displayKind: undefined };
      assert.deepEqual(present(name, 'Image/SVG+XML; charset=utf-8'), expected, name);
    }
  });

  it('shows a file inline if its name and type differ but are both safe', () => {
    assert.deepEqual(present('a.jpg', 'image/webp'), {
      type: 'image/webp',
      displayKind: 'image',
    });
    assert.equal(present('a.png', 'text/plain').displayKind, 'text');
  });

  it('keeps only the charset parameter, and only of text', () => {
    for (const [type, shown] of [
      ['text/plain', 'text/plain; charset=utf-8'],
      ['text/plain; charset=iso-8859-1', 'text/plain; charset=iso-8859-1'],
      ['text/plain;format=flowed;Charset="GB18030"', 'text/plain; charset=GB18030'],
      ['text/plain; charset="a b"', 'text/plain; charset=utf-8'],
      ['text/plain; charset=', 'text/plain; charset=utf-8'],
      [`text/plain; charset=${'x'.repeat(50)}`, 'text/plain; charset=utf-8'],
      ['TEXT/Plain ; x=y', 'text/plain; charset=utf-8'],
      ['image/png; charset=utf-7', 'image/png'],
      ['video/mp4; codecs="avc1"', 'video/mp4'],
    ] as const) {
      assert.equal(present('a.txt', type).type, shown, type);
      assert.notEqual(present('a.txt', type).displayKind, undefined, type);
    }
  });

  it('does not show types that only begin or end like a safe one', () => {
    for (const type of [
      'text/plainx',
      'xtext/plain',
      'text/html,text/plain',
      'text/plain,text/html',
      'image/png image/svg+xml',
      'image/png+xml',
      'text',
      'image/',
      'image/*',
    ]) {
      assert.equal(present('a.txt', type).displayKind, undefined, type);
    }
  });

  it('returns an attachment for a download', () => {
    assert.deepEqual(present('a.png', 'image/png', true), { type: 'image/png', displayKind: undefined });
  });
});
