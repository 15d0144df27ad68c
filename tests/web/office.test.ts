import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessibleInBothSchemes } from './axe.ts';
import { becomes } from './becomes.ts';
import { EXCEL, MAIL, openDocument, WORD } from './office-samples.ts';
import { visitSite } from './open-site.ts';

export const needs: readonly Need[] = ['browser'];

test('The text of office documents and e-mails is shown, and nothing of them is loaded or runs', async (t) => {
  const repeated =
    '<table:table><table:table-row table:number-rows-repeated="900"><table:table-cell table:number-columns-repeated="200"><text:p>x</text:p></table:table-cell></table:table-row></table:table>';
  const files = {
    '1.docx': WORD,
    '2.xlsx': EXCEL,
    '3.eml': MAIL,
    '4.docx': 'no archive',
    '5.ods': openDocument(repeated),
  };
  const { page } = await visitSite(t, { files, path: '?preview=1.docx' });
  const viewer = page.getByRole('dialog');
  await viewer.getByRole('heading', { name: 'Plan & goals' }).waitFor();
  await viewer.getByRole('cell', { name: 'c', exact: true }).waitFor();
  await viewer.getByText('Text only, and possibly incomplete. Download the file to see all of it.').waitFor();
  await assertAccessibleInBothSchemes(page, t, { state: 'a Word document' });
  const next = () => page.keyboard.press('ArrowRight');

  await next();
  await viewer.getByRole('cell', { name: 'Coffee' }).waitFor();
  await viewer.getByRole('columnheader', { name: 'C' }).getByRole('button').click();
  if (isFullForm) await assertAccessibleInBothSchemes(page, t, { state: 'a workbook' });
  await viewer.getByRole('button', { name: 'Empty' }).click();
  await viewer.getByRole('cell', { name: 'Coffee' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await viewer.waitFor({ state: 'detached' });

  await page.locator('[data-path="3.eml"]').dblclick();
  await viewer.getByText('Jürgen <j@example.org>').waitFor();
  await viewer.getByText('Hello <Ann>').waitFor();
  await viewer.getByText('invoice.pdf').waitFor();
  await next();
  await viewer.getByText('The text of this document can’t be shown').waitFor();

  // A sheet with many cells has only the visible rows.
  await next();
  await becomes(() => viewer.getByRole('table').getAttribute('aria-rowcount'), '901');
  const rowCount = await viewer.locator('tr').count();
  assert.ok(rowCount < 100, `${rowCount} rows are rendered.`);
});
