import type { OfficeFormat } from '../../../platform/preview-kinds.ts';
import type { ExtractedDocument } from './document.ts';
import { extractMail } from './mail.ts';
import { extractOpenDocument } from './open-document.ts';
import { extractExcel, extractPowerPoint, extractWord } from './open-xml.ts';

/** Returns the text of a document; undefined if it is invalid, encrypted or too large. */
export async function extractDocument(bytes: Uint8Array, format: OfficeFormat): Promise<ExtractedDocument | undefined> {
  try {
    switch (format) {
      case 'docx':
        return extractWord(bytes);
      case 'xlsx':
        return extractExcel(bytes);
      case 'pptx':
        return extractPowerPoint(bytes);
      case 'odt':
      case 'ods':
      case 'odp':
        return extractOpenDocument(bytes, format);
      case 'eml':
        return await extractMail(bytes);
    }
  } catch {
    return undefined;
  }
}
