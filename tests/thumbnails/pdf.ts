/** A PDF with one page of 300 × 400 points, drawn by these operators. */
export function onePage(operators: string): Buffer {
  return Buffer.from(`%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 4 0 R/Resources<<>>>>endobj
4 0 obj<</Length ${operators.length}>>stream
${operators}
endstream endobj
trailer<</Root 1 0 R>>
`);
}
