import { strToU8, zipSync } from 'fflate';

const zip = (files: Readonly<Record<string, string>>): Uint8Array =>
  zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)])));

const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const run = (text: string) => `<w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">${text}</w:t></w:r>`;

/** A Word document with this body. */
export const word = (body: string): Uint8Array =>
  zip({
    '[Content_Types].xml': '<Types/>',
    'word/document.xml': `${DECLARATION}<w:document xmlns:w="urn:w"><w:body>${body}</w:body></w:document>`,
    'word/media/image1.png': 'x'.repeat(1000),
  });

export const WORD = word(
  [
    `<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>${run('Plan &amp; ')}${run('goals')}</w:p>`,
    `<w:p>${run('First line')}<w:r><w:br/></w:r>${run('second &#x1F600;')}</w:p>`,
    `<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/></w:numPr></w:pPr>${run('An item')}</w:p><w:p/>`,
    `<w:tbl><w:tr><w:tc><w:p>${run('a')}</w:p><w:p>${run('b')}</w:p></w:tc><w:tc><w:p>${run('c')}</w:p></w:tc></w:tr></w:tbl>`,
    `<w:p><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del></w:p>`,
  ].join(''),
);

export const EXCEL = zip({
  'xl/workbook.xml': `<workbook xmlns:r="urn:r"><sheets><sheet name="Prices" sheetId="1" r:id="rId2"/><sheet name="Empty" sheetId="2" r:id="rId3"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels':
    '<Relationships><Relationship Id="rId2" Target="worksheets/sheet1.xml"/><Relationship Id="rId3" Target="/xl/worksheets/sheet2.xml"/></Relationships>',
  'xl/sharedStrings.xml':
    '<sst><si><t>Tea</t></si><si><r><t>Cof</t></r><r><t>fee</t></r><rPh><t>ignored</t></rPh></si></sst>',
  'xl/worksheets/sheet1.xml': `<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1"><v>3.5</v></c></row><row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3" t="b"><v>1</v></c><c r="C3" t="inlineStr"><is><t>inline</t></is></c></row></sheetData></worksheet>`,
  'xl/worksheets/sheet2.xml': '<worksheet><sheetData/></worksheet>',
});

const slide = (title: string, text: string) =>
  `<p:sld><p:sp><p:nvPr><p:ph type="title"/></p:nvPr><a:p><a:r><a:t>${title}</a:t></a:r></a:p></p:sp><p:sp><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sp></p:sld>`;

export const POWERPOINT = zip({
  'ppt/slides/slide10.xml': slide('Last', 'ten'),
  'ppt/slides/slide2.xml': slide('First', 'two'),
});

export const openDocument = (body: string) =>
  zip({
    'content.xml': `${DECLARATION}<office:document-content><office:body>${body}</office:body></office:document-content>`,
  });

export const ODT = openDocument(
  '<text:h text:outline-level="2">Head</text:h><text:p>One <text:span>two</text:span><text:s text:c="2"/>x</text:p><text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>',
);
export const ODS = openDocument(
  '<table:table table:name="S"><table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>7</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16000"/></table:table-row><table:table-row table:number-rows-repeated="1048575"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>',
);
export const ODP = openDocument(
  '<draw:page draw:name="p1"><draw:frame><text:p>Hello</text:p></draw:frame></draw:page><draw:page><text:p>Bye</text:p></draw:page>',
);

export const MAIL = [
  'From: =?utf-8?q?J=C3=BCrgen?= <j@example.org>',
  'To: ann@example.org, Bob <bob@example.org>',
  'Subject: Invoice',
  'Date: Fri, 27 Nov 2026 08:00:00 +0000',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/html; charset=utf-8',
  '',
  '<html><head><title>hidden</title><style>p{}</style></head><body><p>Hello &lt;Ann&gt;</p><img src="https://tracker.example/x.png"><p>Bye</p><script>alert(1)</script></body></html>',
  '--b',
  'Content-Type: application/pdf',
  'Content-Disposition: attachment; filename="invoice.pdf"',
  '',
  '%PDF',
  '--b--',
  '',
].join('\r\n');

/** Returns a Word document that is 70 MB when it is unpacked. */
export const bomb = (): Uint8Array => word(`<w:p><w:r><w:t>${'0'.repeat(70 * 1024 * 1024)}</w:t></w:r></w:p>`);
