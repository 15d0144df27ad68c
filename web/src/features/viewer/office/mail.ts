import PostalMime, { type Address } from 'postal-mime';
import { DocumentBuilder, type ExtractedDocument, type MailField } from './document.ts';

/** Maximum nesting of the parts of an e-mail, and size in bytes of the headers of a part. */
const LIMITS = { maxNestingDepth: 50, maxHeadersSize: 256 * 1024 };

/** Returns the fields and the text of an e-mail. HTML becomes text, so nothing of it is loaded or runs. */
export async function extractMail(bytes: Uint8Array): Promise<ExtractedDocument> {
  const mail = await PostalMime.parse(bytes, LIMITS);
  const builder = new DocumentBuilder();
  const fields: [MailField, string][] = [
    ['subject', mail.subject ?? ''],
    ['from', mail.from ? addressesOf([mail.from]) : ''],
    ['to', addressesOf(mail.to ?? [])],
    ['cc', addressesOf(mail.cc ?? [])],
    ['date', mail.date ?? ''],
    ['attachments', mail.attachments.map(({ filename, mimeType }) => filename ?? mimeType).join(', ')],
  ];
  builder.add({ kind: 'fields', fields: fields.filter(([, value]) => value !== '') });
  const text = mail.text ?? textOfHtml(mail.html ?? '');
  for (const paragraph of text.replaceAll('\r\n', '\n').split(/\n{2,}/)) {
    if (!builder.addText('paragraph', paragraph)) break;
  }
  return builder.finish();
}

function addressesOf(addresses: readonly Address[]): string {
  return addresses
    .flatMap(({ name, address, group }) =>
      group ? [addressesOf(group)] : [name && address ? `${name} <${address}>` : (address ?? name)],
    )
    .join(', ');
}

/** Returns the text between the tags of HTML. It is only shown as text, so it need not be exact. */
function textOfHtml(html: string): string {
  let text = '';
  let hidden = '';
  for (const part of html.split('<')) {
    const end = part.indexOf('>');
    const tag = /^\/?[a-z\d]*/i.exec(part)?.[0].toLowerCase() ?? '';
    if (hidden === '' && (tag === 'style' || tag === 'script' || tag === 'head')) hidden = tag;
    else if (tag === `/${hidden}`) hidden = '';
    if (hidden !== '') continue;
    if (/^\/?(p|div|h[1-6]|table|ul|ol|blockquote)$/.test(tag)) text += '\n\n';
    else if (/^(br|tr|li)$/.test(tag)) text += '\n';
    text += part.slice(end + 1);
  }
  const names: Readonly<Record<string, string>> = { nbsp: ' ', amp: '&', lt: '<', gt: '>', quot: '"' };
  return text.replaceAll(/&(nbsp|amp|lt|gt|quot);/g, (_, name: string) => names[name] ?? '');
}
