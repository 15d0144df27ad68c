/**
 * An instant of ISO 8601 with seconds and its zone, as `2027-01-01T00:00:00Z` or `2027-01-01T01:00:00.5+01:00`;
 * undefined for any other text, and for a day that its month does not have.
 */
export function parseInstant(text: string): Date | undefined {
  const day = FORM.exec(text)?.groups?.['day'];
  if (day === undefined) return undefined;
  const instant = new Date(text);
  // `Date` takes the 31st of February for the 3rd of March.
  const isReal = !Number.isNaN(instant.getTime()) && new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
  return isReal ? instant : undefined;
}

const FORM =
  /^(?<day>\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
