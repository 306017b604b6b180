/**
 * Requirements of generation 2025-11-25 that no test named yet when they were written down, for one reason: it was not
 * served yet. A row leaves when a test names it, or when it is declined with a reason of its own; the list is to become
 * empty, and then this file goes.
 */
// prettier-ignore
export const notServedYet: readonly `C-${string}`[] = [
  "C-001", "C-002", "C-004", "C-007", "C-010", "C-012",
  "C-013", "C-016", "C-017", "C-019",
  "C-022", "C-023", "C-028", "C-029", "C-037", "C-038", "C-041",
  "C-047", "C-048", "C-049",
  "C-053", "C-054", "C-055", "C-059", "C-060", "C-065",
  "C-067", "C-072", "C-073", "C-074", "C-075", "C-077", "C-078",
  "C-079", "C-080", "C-081", "C-082",
  "C-088", "C-089", "C-091", "C-093", "C-094", "C-095",
  "C-096", "C-098", "C-102", "C-103", "C-104", "C-105", "C-106",
  "C-107", "C-109", "C-111", "C-112", "C-113", "C-115", "C-118",
  "C-119", "C-120", "C-121", "C-122", "C-123", "C-124", "C-125", "C-126",
  "C-127", "C-128", "C-129", "C-130", "C-131", "C-P-001", "C-P-003",
  "C-P-004",
];
